// Step 5 of 8: package deduct takes a whole basket from a cabinet's stock in
// Redis, all SKUs or none, in one script call.
//
// Its promises are those of the scripts in vendline/lua, carried over a
// network: a call that times out may have run, and is asked again under the
// same id and version, which takes nothing twice. Redis owns no truth here.
// What a call took counts only once a ledger transaction has found its
// order.Run still current.
//
// Round trips are what costs, so the baskets of many callers travel in shared
// pipelines; a lone caller leaves at once.
package deduct
