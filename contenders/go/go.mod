module palio/contenders/go

// 1.23 is the first version whose defaults have today's timers: with an older line here, a newer toolchain would
// emulate the former ones.
go 1.23

toolchain go1.26.8
