package core

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"mqcore/driver"
)

// What the driver of this test does in each call; one library has one driver.
var on struct {
	create     func(driver.Host) error
	connect    func(driver.Run) error
	drive      func(driver.Source, driver.Sink) error
	disconnect func() error
	destroy    func()
}

type scripted struct{}

func (scripted) Connect(run driver.Run) error                       { return on.connect(run) }
func (scripted) Drive(source driver.Source, sink driver.Sink) error { return on.drive(source, sink) }
func (scripted) Disconnect() error                                  { return on.disconnect() }
func (scripted) Destroy()                                           { on.destroy() }

func init() {
	driver.Register(driver.Claims{
		ID: "scripted", Library: "of the test", Shape: driver.ShapeNoWait, Protocols: driver.V311 | driver.V5,
		PublishQoS: driver.QoS0 | driver.QoS1, SubscribeQoS: driver.QoS2, Features: driver.FeatureTLS,
		MaxWindow: 7, QoS0Completion: driver.QoS0Drained,
	}, func(host driver.Host) (driver.Driver, error) { return scripted{}, on.create(host) })
}

func begin(t *testing.T) Driver {
	t.Helper()
	on.create = func(driver.Host) error { return nil }
	on.connect = func(driver.Run) error { return nil }
	on.disconnect = func() error { return nil }
	on.destroy = func() {}
	it, status := Create()
	equal(t, status, 0)
	return it
}

func equal[T any](t *testing.T, found, wanted T) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Errorf("found %v, wanted %v", found, wanted)
	}
}

func TestTheTableHasTheClaims(t *testing.T) {
	table, info := Sizes()
	equal(t, Claims(), fmt.Sprintf("0x3142514d %d 1.0 0: %d scripted 'of the test' shape 2 protocols 3 publish 3 "+
		"subscribe 4 features 1 window 7 qos0 3", table, info))
}

func TestFailuresAndPanicsEndAtTheBoundary(t *testing.T) {
	it := begin(t)
	on.connect = func(driver.Run) error {
		return fmt.Errorf("while connecting: %w", driver.Fail(driver.StatusNetwork, "nobody on %d", 1883))
	}
	equal(t, it.Connect(true), int32(driver.StatusNetwork))
	on.connect = func(driver.Run) error { return errors.New("of another kind") }
	equal(t, it.Connect(true), int32(driver.StatusLibrary))
	on.drive = func(driver.Source, driver.Sink) error { panic("no such slot") }
	equal(t, it.Drive(), int32(driver.StatusLibrary))
	on.disconnect = func() error { var none []int; _ = none[3]; return nil }
	equal(t, it.Disconnect(), int32(driver.StatusLibrary))
	on.destroy = func() { panic(errors.New("even here")) }
	it.Destroy()
	equal(t, Failures(), []string{
		"3 nobody on 1883", "4 of another kind", "4 panic: no such slot",
		"4 panic: runtime error: index out of range [3] with length 0", "4 panic: even here",
	})
}

func TestWhatCannotBeCreatedIsNoInstance(t *testing.T) {
	on.create = func(driver.Host) error { return driver.Fail(driver.StatusConfig, "not here") }
	it, status := Create()
	equal(t, it.IsNull(), true)
	if status == 0 {
		t.Error("create() succeeded")
	}
	equal(t, Failures(), []string{"2 not here"})
}

func TestTheHostIsTold(t *testing.T) {
	var host driver.Host
	begin(t).Destroy()
	on.create = func(it driver.Host) error { host = it; return nil }
	it, _ := Create()
	host.Note("library.version", "1.2")
	host.Log(driver.LogWarning, "a line")
	host.Fail(driver.StatusNetwork, "lost")
	notes, logged := Said()
	equal(t, notes, "library.version=1.2")
	equal(t, logged, "2a line")
	equal(t, Failures(), []string{"3 lost"})
	it.Destroy()
}

func TestARunIsReadWhole(t *testing.T) {
	it := begin(t)
	defer it.Destroy()
	on.connect = func(run driver.Run) error {
		equal(t, run.IsV5(), true)
		equal(t, run.Host(), "localhost")
		equal(t, run.Port(), 1883)
		equal(t, run.CAFile(), "ca.pem")
		equal(t, []string{run.ClientID(0), run.ClientID(2)}, []string{"id", "id-2"})
		equal(t, run.Topics(), []string{"t/0", "t/1"})
		equal(t, run.Filters(), []string{"t/+"})
		equal(t, run.FilterQoS(), 1)
		equal(t, run.Options(), map[string]string{"loop": "thread"})
		equal(t, run.KeepAlive(), time.Minute)
		equal(t, []uint32{run.Window(), run.PayloadBytesMax(), run.ConnectionCount()}, []uint32{16, 64, 2})
		equal(t, []uint16{run.ReceiveMaximum(), run.TopicAliasMax()}, []uint16{5, 3})
		equal(t, run.Properties(), []driver.Properties{{
			ContentType: "text/plain", ResponseTopic: "reply", CorrelationData: []byte{1, 0, 2},
			User: []driver.UserProperty{{Name: "name", Value: "value"}},
		}})
		return run.RefuseOptions()
	}
	equal(t, it.Connect(false), int32(driver.StatusConfig))
	equal(t, Failures(), []string{"2 unknown option 'loop': this driver has no options"})

	on.connect = func(run driver.Run) error {
		equal(t, run.IsV5(), false)
		equal(t, run.CAFile(), "")
		equal(t, len(run.Topics())+len(run.Filters())+len(run.Options())+len(run.Properties()), 0)
		return run.RefuseOptions()
	}
	equal(t, it.Connect(true), 0)
}

func TestMessagesGoThroughTheLoop(t *testing.T) {
	it := begin(t)
	defer it.Destroy()
	var seen []driver.Next
	on.drive = func(source driver.Source, sink driver.Sink) error {
		for {
			next, message, wakeNs := source.Next()
			seen = append(seen, next)
			switch next {
			case driver.Send:
				equal(t, string(message.Payload()), "payload")
				equal(t, []int{message.Topic(), message.Properties(), message.Connection()}, []int{1, 0, 1})
				equal(t, message.QoS(), 1)
				equal(t, message.Retain(), true)
				equal(t, message.TopicAlias(), 3)
				sink.Done(message.Slot(), driver.StatusLibrary)
				sink.Received([]byte("arrival"), driver.NoFilter, 1)
			case driver.Wait:
				equal(t, wakeNs, 1001)
				equal(t, driver.Until(wakeNs), 0)
				source.Wait()
			case driver.Stop:
				return nil
			}
		}
	}
	equal(t, it.Drive(), 0)
	equal(t, seen, []driver.Next{driver.Send, driver.Wait, driver.Drain, driver.Stop})
	equal(t, Reported(), "done 9 status 4, received 'arrival' filter 65535 connection 1, waits 1")
}
