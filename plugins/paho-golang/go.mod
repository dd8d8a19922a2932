module mqcore/paho-golang

go 1.18

require (
	github.com/eclipse/paho.mqtt.golang v1.4.3
	mqcore/driver v0.0.0
)

require (
	github.com/gorilla/websocket v1.5.0 // indirect
	golang.org/x/net v0.8.0 // indirect
	golang.org/x/sync v0.1.0 // indirect
)

replace mqcore/driver => ../../plugin-api/go
