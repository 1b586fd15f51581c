// Package drill kills every part of Vendline under load and then checks that
// nothing that was acknowledged is lost, that nothing was sold twice, and that
// every store agrees with every other to the unit.
//
// A run is one story on one private stack of real servers: shoppers order by
// phone and by scan (load.go, phone.go, scan.go), a till takes their
// money (till.go), motors dispense (motor.go), and everything anybody was told yes about goes into the book
// (book.go). Meanwhile one part after the other is killed, kept down for a
// second or two, and started again (fault.go). Then the load ends, the system
// comes to rest (quiet.go), all stores are read (state.go), and the promises are
// checked against the book (invariants.go).
package drill
