module my-driver

go 1.18

// YOUR LIBRARY: `go get` it; then tiny_mqtt.go goes.
require mqcore/driver v0.0.0

// build.sh makes sdk a link to what mqcore brings.
replace mqcore/driver => ./sdk/go
