// The driver my-driver: it adapts one MQTT client library to mqcore. The contract is mqcore/driver.h, which the
// package mqcore/driver makes an interface.
//
// It works as it stands, with the client of tiny_mqtt.go. Replace what is marked YOUR LIBRARY, one mark after the
// other, and keep ./test.sh green. Nothing here counts, paces or reads a clock: mqcore does.
package main

import (
	"net"
	"strconv"
	"time"

	"mqcore/driver"
)

type myDriver struct {
	topics []string
	client *tinyClient // YOUR LIBRARY

	completed chan struct{} // a message was completed: there may be something to send
	lost      chan error
}

func init() {
	// YOUR LIBRARY: what it can do, the same as in driver.toml. What is not claimed is refused, never tried.
	driver.Register(driver.Claims{
		ID:             "my-driver",
		Library:        "tiny_mqtt",
		Shape:          driver.ShapeSync,
		Protocols:      driver.V311,
		PublishQoS:     driver.QoS0 | driver.QoS1,
		SubscribeQoS:   driver.QoS0 | driver.QoS1,
		MaxWindow:      65535,
		QoS0Completion: driver.QoS0Written,
	}, create)
}

func main() {}

// create makes what is needed without a network.
func create(host driver.Host) (driver.Driver, error) {
	host.Note("library.version", "0") // YOUR LIBRARY: its version; debug.ReadBuildInfo() has it
	return &myDriver{}, nil
}

// Connect returns when the broker has confirmed the connection and every subscription.
func (it *myDriver) Connect(run driver.Run) error {
	if err := run.RefuseOptions(); err != nil {
		return err
	}
	it.topics = run.Topics()
	it.completed = make(chan struct{}, 1)
	it.lost = make(chan error, 1)

	// YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is lost must
	// end the run. Here, too, belongs whatever caps or delays: set its limit of messages in flight to
	// run.Window() or more, store nothing on disk. Connect, wait for CONNACK, at most 10 s.
	address := net.JoinHostPort(run.Host(), strconv.Itoa(int(run.Port())))
	client, err := tinyConnect(address, run.ClientID(0), run.KeepAlive())
	if err != nil {
		return network(err)
	}
	it.client = client
	// YOUR LIBRARY: subscribe, wait for SUBACK. A lower QoS than asked for is no success.
	for _, filter := range run.Filters() {
		granted, err := client.Subscribe(filter, run.FilterQoS())
		if err != nil {
			return network(err)
		}
		if granted >= 0x80 {
			return driver.Fail(driver.StatusNetwork, "the broker refused to subscribe '%s'", filter)
		}
		if granted < run.FilterQoS() {
			return driver.Fail(driver.StatusUnsupported,
				"the broker granted QoS %d for '%s', QoS %d was asked for", granted, filter, run.FilterQoS())
		}
	}
	return nil
}

// network is a connection that is refused or lost.
func network(err error) error { return driver.Fail(driver.StatusNetwork, "%v", err) }

// Drive is the loop. It returns nil only after Stop.
func (it *myDriver) Drive(source driver.Source, sink driver.Sink) error {
	// YOUR LIBRARY: its callbacks. Done and Received may be called from any goroutine. How do you find the slot
	// when an acknowledgement comes? tiny_mqtt takes the packet identifier from its caller. Most libraries
	// choose it themselves: keep the slot beside the token of a message. Where publishing blocks until it is
	// acknowledged, give each message a goroutine that publishes and then calls Done. The acknowledgement may
	// come before the publishing call has returned.
	it.client.OnAcknowledged = func(id uint16) {
		sink.Done(uint32(id)-1, driver.StatusOK)
		select {
		case it.completed <- struct{}{}:
		default:
		}
	}
	it.client.OnMessage = func(payload []byte) { sink.Received(payload, driver.NoFilter, 0) }
	it.client.OnLost = func(cause error) {
		select {
		case it.lost <- network(cause):
		default: // the first one counts; a library may tell it several times
		}
	}
	it.client.Start()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, message, wakeNs := source.Next()
		switch next {
		case driver.Send:
			if err := it.publish(message, sink); err != nil {
				return err
			}
		case driver.Wait, driver.Drain:
			// A select leaves the processor to the goroutines of the library; source.Wait() would hold it.
			if !timer.Stop() {
				select {
				case <-timer.C:
				default:
				}
			}
			timer.Reset(driver.Until(wakeNs))
			select {
			case <-timer.C:
			case <-it.completed:
			case err := <-it.lost:
				return err
			}
		default:
			return nil
		}
	}
}

// publish hands one message over.
func (it *myDriver) publish(message driver.Message, sink driver.Sink) error {
	// YOUR LIBRARY: publish. The payload goes out as it is and stays put until Done.
	err := it.client.Publish(it.topics[message.Topic()], message.Payload(), message.QoS(), message.Retain(),
		uint16(message.Slot()+1))
	if err != nil {
		return network(err)
	}
	if message.QoS() == 0 {
		sink.Done(message.Slot(), driver.StatusOK) // written: see QoS0Completion
	}
	return nil
}

// Disconnect leaves the broker in the proper way. Once it has returned nothing may be reported any more.
func (it *myDriver) Disconnect() error {
	it.client.Disconnect() // YOUR LIBRARY
	it.client = nil
	return nil
}

// Destroy frees what is left, also where Connect has failed half-way.
func (it *myDriver) Destroy() {
	if it.client != nil {
		it.client.Disconnect() // YOUR LIBRARY
	}
}
