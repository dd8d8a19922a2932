module mqcore/driver

go 1.18
