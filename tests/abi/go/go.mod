module mqcore/driver-test

go 1.18

require mqcore/driver v0.0.0

replace mqcore/driver => ../../../plugin-api/go
