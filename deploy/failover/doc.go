// Package failover kills, freezes and promotes the servers of a Redis Cluster,
// and of a master under sentinels, while people order; then it checks that
// nothing was oversold, that Redis and the ledger agree to the unit, and that the
// history of every cabinet's stock is one that units on a shelf can have.
package failover
