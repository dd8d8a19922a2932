// Package driver makes drivers for mqcore in Go. A driver adapts one MQTT client library, see driver.h,
// which is the contract: life, threads, what each call means. Here it is an interface, registered in
// init() of a package main that is built with -buildmode=c-shared:
//
//	func init() {
//		driver.Register(driver.Claims{ID: "my-driver", Library: "My Library"},
//			func(host driver.Host) (driver.Driver, error) { return &myDriver{host: host}, nil })
//	}
//	func main() {}
//
// An error that is no *Failure, and a panic, become StatusLibrary with their text; a panic of another
// goroutine ends the process, as everywhere in Go. On the measured path these are the calls of driver.h
// and nothing else; each costs a call from Go to C.
package driver

// #cgo CFLAGS: -I${SRCDIR}/../include
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"time"
	"unsafe"
)

// Status of a call or of one message.
type Status int32

const (
	StatusOK          Status = C.MQCORE_OK
	StatusUnsupported Status = C.MQCORE_UNSUPPORTED // the library cannot do what was asked; never approximate
	StatusConfig      Status = C.MQCORE_CONFIG      // the request or an option makes no sense
	StatusNetwork     Status = C.MQCORE_NETWORK     // refused, dropped, timed out
	StatusLibrary     Status = C.MQCORE_LIBRARY     // the library failed or broke its own contract
)

// Failure is the error of a call that could not do what it was asked.
type Failure struct {
	Status Status
	Text   string
}

func (failure *Failure) Error() string { return failure.Text }

// Fail makes a Failure as fmt.Sprintf makes texts.
func Fail(status Status, format string, values ...interface{}) error {
	return &Failure{status, fmt.Sprintf(format, values...)}
}

// Shape of the drive loop.
type Shape uint32

const (
	ShapeSync    Shape = C.MQCORE_SHAPE_SYNC
	ShapeNoWait  Shape = C.MQCORE_SHAPE_NOWAIT
	ShapeAwaited Shape = C.MQCORE_SHAPE_AWAITED
)

// QoS0Completion is what completing a QoS 0 message stands for.
type QoS0Completion uint32

const (
	QoS0HandedOver QoS0Completion = C.MQCORE_QOS0_HANDED_OVER
	QoS0Written    QoS0Completion = C.MQCORE_QOS0_WRITTEN
	QoS0Drained    QoS0Completion = C.MQCORE_QOS0_DRAINED
)

// Bits of Claims.
const (
	V311 uint32 = C.MQCORE_V311
	V5   uint32 = C.MQCORE_V5

	QoS0 uint32 = C.MQCORE_QOS0
	QoS1 uint32 = C.MQCORE_QOS1
	QoS2 uint32 = C.MQCORE_QOS2

	FeatureTLS               uint32 = C.MQCORE_FEATURE_TLS
	FeatureFilterCallbacks   uint32 = C.MQCORE_FEATURE_FILTER_CALLBACKS
	FeaturePublishProperties uint32 = C.MQCORE_FEATURE_PUBLISH_PROPERTIES
	FeatureTopicAlias        uint32 = C.MQCORE_FEATURE_TOPIC_ALIAS
	FeatureReceiveMaximum    uint32 = C.MQCORE_FEATURE_RECEIVE_MAXIMUM
	FeatureManyConnections   uint32 = C.MQCORE_FEATURE_MANY_CONNECTIONS
)

// NoFilter says that the library did not dispatch by filter.
const NoFilter = C.MQCORE_NONE

// Claims of a driver, the same as in its driver.toml.
type Claims struct {
	ID             string
	Library        string
	Shape          Shape
	Protocols      uint32
	PublishQoS     uint32
	SubscribeQoS   uint32
	Features       uint32
	MaxWindow      uint32 // most messages in flight, 0: no limit of the library
	QoS0Completion QoS0Completion
}

// Driver adapts one MQTT client library. All calls come on one thread.
type Driver interface {
	// Connect and subscribe as the run asks; returns when the broker has confirmed.
	Connect(run Run) error
	// Drive is the loop. It returns nil only after Stop.
	Drive(source Source, sink Sink) error
	// Disconnect leaves the broker; the sink is not used any more once it has returned.
	Disconnect() error
	// Destroy frees what is left.
	Destroy()
}

var registered struct {
	claims Claims
	create func(Host) (Driver, error)
}

// Register names the driver of this library, once, in init(). create imports the library: no network yet.
func Register(claims Claims, create func(Host) (Driver, error)) {
	registered.claims = claims
	registered.create = create
}

// Host is what the core offers besides source and sink; from any goroutine until Destroy.
type Host struct{ raw *C.mqcore_host }

// Levels of Host.Log.
const (
	LogDebug   = C.MQCORE_LOG_DEBUG
	LogInfo    = C.MQCORE_LOG_INFO
	LogWarning = C.MQCORE_LOG_WARNING
	LogError   = C.MQCORE_LOG_ERROR
)

// Log writes a line to the run's log. Not from the measured path.
func (host Host) Log(level int32, text string) {
	raw := C.CString(text)
	defer C.free(unsafe.Pointer(raw))
	C.mqcore_go_log(host.raw, C.int32_t(level), raw)
}

// Fail tells of a connection that is lost outside a call; inside one return an error.
func (host Host) Fail(status Status, text string) {
	raw := C.CString(text)
	defer C.free(unsafe.Pointer(raw))
	C.mqcore_go_fail(host.raw, C.int32_t(status), raw)
}

// Note is provenance for the result file: "library.version", ...
func (host Host) Note(key, value string) {
	rawKey, rawValue := C.CString(key), C.CString(value)
	defer C.free(unsafe.Pointer(rawKey))
	defer C.free(unsafe.Pointer(rawValue))
	C.mqcore_go_note(host.raw, rawKey, rawValue)
}

// Run is what one run asks for. Convert what is needed later.
type Run struct{ raw *C.mqcore_run }

func texts(first **C.char, count C.uint32_t) []string {
	all := make([]string, 0, count)
	if count > 0 {
		for _, text := range unsafe.Slice(first, count) {
			all = append(all, C.GoString(text))
		}
	}
	return all
}

func (run Run) IsV5() bool     { return run.raw.protocol == C.MQCORE_V5 }
func (run Run) Host() string   { return C.GoString(run.raw.host) }
func (run Run) Port() uint32   { return uint32(run.raw.port) }
func (run Run) CAFile() string { return C.GoString(run.raw.ca_file) } // empty: plain TCP

// ClientID of connection n: CLIENT_ID, CLIENT_ID-1, CLIENT_ID-2, ...
func (run Run) ClientID(connection uint32) string {
	if connection == 0 {
		return C.GoString(run.raw.client_id)
	}
	return fmt.Sprintf("%s-%d", C.GoString(run.raw.client_id), connection)
}

// Topics that Message.Topic indexes.
func (run Run) Topics() []string  { return texts(run.raw.topics, run.raw.topic_count) }
func (run Run) Filters() []string { return texts(run.raw.filters, run.raw.filter_count) }

// FilterQoS of the filters; a lower granted QoS is StatusUnsupported.
func (run Run) FilterQoS() byte { return byte(run.raw.filter_qos) }

// RefuseOptions is for a driver without options.
func (run Run) RefuseOptions() error {
	if run.raw.option_count == 0 {
		return nil
	}
	return Fail(StatusConfig, "unknown option '%s': this driver has no options",
		C.GoString(run.raw.options.key))
}

// Options by key. An unknown key is StatusConfig.
func (run Run) Options() map[string]string {
	all := map[string]string{}
	if run.raw.option_count > 0 {
		for _, option := range unsafe.Slice(run.raw.options, run.raw.option_count) {
			all[C.GoString(option.key)] = C.GoString(option.value)
		}
	}
	return all
}

func (run Run) KeepAlive() time.Duration {
	return time.Duration(run.raw.keepalive_s) * time.Second
}
func (run Run) Window() uint32          { return uint32(run.raw.window) }
func (run Run) PayloadBytesMax() uint32 { return uint32(run.raw.payload_bytes_max) }
func (run Run) ConnectionCount() uint32 { return uint32(run.raw.connection_count) }
func (run Run) ReceiveMaximum() uint16  { return uint16(run.raw.receive_maximum) } // 0: not sent
func (run Run) TopicAliasMax() uint16   { return uint16(run.raw.topic_alias_max) } // 0: none

// UserProperty is a user property of MQTT 5.
type UserProperty struct{ Name, Value string }

// Properties is one set of MQTT 5 PUBLISH properties; what is empty is not sent.
type Properties struct {
	ContentType     string
	ResponseTopic   string
	CorrelationData []byte
	User            []UserProperty
}

// Properties that Message.Properties indexes.
func (run Run) Properties() []Properties {
	all := make([]Properties, 0, run.raw.properties_count)
	if run.raw.properties_count > 0 {
		for _, set := range unsafe.Slice(run.raw.properties, run.raw.properties_count) {
			one := Properties{
				ContentType:   C.GoString(set.content_type),
				ResponseTopic: C.GoString(set.response_topic),
				CorrelationData: C.GoBytes(unsafe.Pointer(set.correlation_data),
					C.int(set.correlation_data_bytes)),
			}
			if set.user_count > 0 {
				for _, user := range unsafe.Slice(set.user, set.user_count) {
					one.User = append(one.User,
						UserProperty{C.GoString(user.name), C.GoString(user.value)})
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// Message to publish; it and its payload stay put until Done for its slot.
type Message struct{ raw *C.mqcore_message }

// Payload is memory of the core, not of Go: to be read, until Done for its slot.
func (message Message) Payload() []byte {
	if message.raw.payload_bytes == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(message.raw.payload), message.raw.payload_bytes)
}
func (message Message) Topic() int         { return int(message.raw.topic) }
func (message Message) Slot() uint32       { return uint32(message.raw.slot) } // below the window
func (message Message) QoS() byte          { return byte(message.raw.qos) }
func (message Message) Retain() bool       { return message.raw.retain != 0 }
func (message Message) Connection() int    { return int(message.raw.connection) }
func (message Message) TopicAlias() uint16 { return uint16(message.raw.topic_alias) } // 0: none
func (message Message) Properties() int { // -1: none
	if message.raw.properties == C.MQCORE_NONE {
		return -1
	}
	return int(message.raw.properties)
}

// Next is an answer of Source.Next.
type Next int32

const (
	Send  Next = C.MQCORE_SEND
	Wait  Next = C.MQCORE_WAIT
	Drain Next = C.MQCORE_DRAIN
	Stop  Next = C.MQCORE_STOP
)

// Source is where messages come from: on the goroutine of Drive only.
type Source struct{ raw *C.mqcore_source }

// Next thing to do: the message with Send, with Wait and Drain the time of CLOCK_MONOTONIC until which there
// is nothing unless a message completes.
func (source Source) Next() (Next, Message, uint64) {
	answer := C.mqcore_go_next(source.raw)
	return Next(answer.kind), Message{answer.message}, uint64(answer.wake_ns)
}

// Wait blocks the thread until that time or until a completion ends a full window. Go's scheduler learns
// late that its processor is free meanwhile: a select on a timer costs other goroutines less.
func (source Source) Wait() { C.mqcore_go_wait(source.raw) }

// Until is the time that is left until a time of CLOCK_MONOTONIC.
func Until(wakeNs uint64) time.Duration {
	now := uint64(C.mqcore_go_now())
	if wakeNs <= now {
		return 0
	}
	if left := wakeNs - now; left < uint64(time.Hour) {
		return time.Duration(left)
	}
	return time.Hour
}

// Sink is where completions and arrivals go, until Disconnect returns.
type Sink struct{ raw *C.mqcore_sink }

// Done completes a message, from any goroutine.
func (sink Sink) Done(slot uint32, status Status) {
	C.mqcore_go_done(sink.raw, C.uint32_t(slot), C.int32_t(status))
}

// Received reports an arrival, from any goroutine, one call at a time.
func (sink Sink) Received(payload []byte, filter, connection uint32) {
	var first unsafe.Pointer
	if len(payload) > 0 {
		first = unsafe.Pointer(&payload[0])
	}
	C.mqcore_go_received(sink.raw, first, C.uint32_t(len(payload)), C.uint32_t(filter),
		C.uint32_t(connection))
}

type instance struct {
	host   Host
	driver Driver
}

// guarded is the panic barrier: nothing unwinds into the core.
func guarded(host Host, call func() error) (status C.int32_t) {
	defer func() {
		if cause := recover(); cause != nil {
			host.Fail(StatusLibrary, fmt.Sprintf("panic: %v", cause))
			status = C.MQCORE_LIBRARY
		}
	}()
	err := call()
	if err == nil {
		return C.MQCORE_OK
	}
	failure := &Failure{StatusLibrary, err.Error()}
	errors.As(err, &failure)
	host.Fail(failure.Status, failure.Text)
	return C.int32_t(failure.Status)
}

//export mqcoreGoClaims
func mqcoreGoClaims(info *C.mqcore_info) {
	claims := registered.claims
	info.size = C.uint32_t(unsafe.Sizeof(*info))
	info.shape = C.uint32_t(claims.Shape)
	info.id = C.CString(claims.ID)
	info.library = C.CString(claims.Library)
	info.protocols = C.uint32_t(claims.Protocols)
	info.publish_qos = C.uint32_t(claims.PublishQoS)
	info.subscribe_qos = C.uint32_t(claims.SubscribeQoS)
	info.features = C.uint32_t(claims.Features)
	info.max_window = C.uint32_t(claims.MaxWindow)
	info.qos0_completion = C.uint32_t(claims.QoS0Completion)
}

//export mqcoreGoCreate
func mqcoreGoCreate(raw *C.mqcore_host) (handle C.uintptr_t) {
	host := Host{raw}
	guarded(host, func() error {
		made, err := registered.create(host)
		if err == nil {
			handle = C.uintptr_t(cgo.NewHandle(&instance{host, made}))
		}
		return err
	})
	return handle
}

func of(handle C.uintptr_t) *instance { return cgo.Handle(handle).Value().(*instance) }

//export mqcoreGoConnect
func mqcoreGoConnect(handle C.uintptr_t, run *C.mqcore_run) C.int32_t {
	it := of(handle)
	return guarded(it.host, func() error { return it.driver.Connect(Run{run}) })
}

//export mqcoreGoDrive
func mqcoreGoDrive(handle C.uintptr_t, source *C.mqcore_source, sink *C.mqcore_sink) C.int32_t {
	it := of(handle)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return guarded(it.host, func() error { return it.driver.Drive(Source{source}, Sink{sink}) })
}

//export mqcoreGoDisconnect
func mqcoreGoDisconnect(handle C.uintptr_t) C.int32_t {
	it := of(handle)
	return guarded(it.host, it.driver.Disconnect)
}

//export mqcoreGoDestroy
func mqcoreGoDestroy(handle C.uintptr_t) {
	it := of(handle)
	guarded(it.host, func() error {
		it.driver.Destroy()
		return nil
	})
	cgo.Handle(handle).Delete()
}
