/* mqcore/driver.h - the driver ABI of mqcore, major 1. C11, also valid C++17. Needs no other header
 * of mqcore and links nothing of it: this file is all that a third party needs.
 *
 * A *driver* adapts one MQTT client library. It is a shared library that exports one function,
 * mqcore_driver_entry(). mqcore loads it into a worker process of its own, one driver and one run
 * to a process. The driver owns the loop that drives the library; the core owns schedule, window,
 * stamp, sequence numbers, counting and time. So a driver pulls the next message from a *source*
 * and reports to a *sink*; it never counts, paces or measures.
 *
 * Life of a driver, all on the worker's main thread:
 *   1  mqcore_driver_entry()   returns the table below: constant data, no side effects
 *   2  create()                import the client library, start its runtime; no network yet
 *   3  connect()               connect every connection, subscribe to every filter; returns when the
 *                              broker has confirmed both (CONNACK, SUBACK)
 *   4  drive()                 pull from the source until it says MQCORE_STOP
 *   5  disconnect()            leave the broker; no callback may reach the sink after it returned
 *   6  destroy()               free everything; then the process exits. Nothing is ever unloaded.
 * create/destroy may be called again after destroy, connect again after disconnect.
 *
 * Thread tags in brackets:
 *   [main-thread]   the worker's main thread only
 *   [drive-thread]  the main thread, from inside drive() only
 *   [any-thread]    also from threads that the client library started
 *
 * Ownership: a pointer that one side hands out stays the property of that side. Text is UTF-8 and
 * ends in NUL. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * Errors: functions return a status; the text of the first error goes through mqcore_host.fail().
 * No exception, panic or long jump may cross this boundary in either direction.
 *
 * Growth: every struct that starts with `size` is sized by the side that fills it and may grow at
 * its end in a later minor version; read fields added after 1.0 only where MQCORE_HAS says they are
 * there. Structs marked "frozen" never grow. Optional interfaces are asked for by a string with a
 * revision, "mqcore.NAME/REVISION"; the headers in mqcore/ext/ define them. Another major version
 * is another ABI and is refused by both sides.
 */
#ifndef MQCORE_DRIVER_H
#define MQCORE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define MQCORE_ABI_MAJOR 1u /* layouts and meanings; a driver of another major is refused */
#define MQCORE_ABI_MINOR 0u /* one more each time something is appended                   */
#define MQCORE_MAGIC                                                                               \
    0x3142514Du             /* the bytes "MQB1": a symbol of the same name by accident
                                        is told from a driver                                      */
#define MQCORE_NONE 0xFFFFu /* "no such index"                                            */

#if defined(_WIN32)
#define MQCORE_EXPORT __declspec(dllexport)
#else
#define MQCORE_EXPORT __attribute__((visibility("default")))
#endif

/* True when the struct at p, as long as its maker says it is, contains the field. */
#define MQCORE_HAS(p, type, field) ((p)->size >= offsetof(type, field) + sizeof((p)->field))

#ifdef __cplusplus
extern "C" {
#endif

/* Status of a call or of one message. */
enum {
    MQCORE_OK = 0,
    MQCORE_UNSUPPORTED =
        1,              /* the library cannot do what was asked; never approximate             */
    MQCORE_CONFIG = 2,  /* the request or an option makes no sense                             */
    MQCORE_NETWORK = 3, /* refused, dropped, timed out                                         */
    MQCORE_LIBRARY = 4  /* the client library failed or broke its own contract                 */
};

/* Shape of the drive loop: how the library is driven fastest.
 *   SYNC     one plain thread; on MQCORE_WAIT it blocks in source->wait() or in the library's own
 *            poll until wake_ns
 *   NOWAIT   one coroutine or one loop callback publishes without awaiting; completion by callback
 *   AWAITED  `window` reused coroutines, each awaiting its own publish; one of them keeps the time
 *            while the others park                                                                */
enum { MQCORE_SHAPE_SYNC = 1, MQCORE_SHAPE_NOWAIT = 2, MQCORE_SHAPE_AWAITED = 3 };

/* What a QoS 0 done() stands for. Libraries differ, and a rate is only read rightly with it.
 *   HANDED_OVER  the library took the message; it may sit in an unbounded user-space queue
 *   WRITTEN      the kernel has taken the whole packet
 *   DRAINED      written to a bounded user-space buffer below its high-water mark                  */
enum { MQCORE_QOS0_HANDED_OVER = 1, MQCORE_QOS0_WRITTEN = 2, MQCORE_QOS0_DRAINED = 3 };

/* Bits of mqcore_info.protocols; mqcore_run.protocol is exactly one of them. */
enum { MQCORE_V311 = 1u << 0, MQCORE_V5 = 1u << 1 };

/* Bits of mqcore_info.publish_qos and subscribe_qos. */
enum { MQCORE_QOS0 = 1u << 0, MQCORE_QOS1 = 1u << 1, MQCORE_QOS2 = 1u << 2 };

/* Bits of mqcore_info.features. Only appended. A bit that is not set is refused by the core before
 * anything starts; a bit that is set is exercised by `mqcore check-driver`.                        */
enum {
    MQCORE_FEATURE_TLS = 1u << 0,                /* mqcore_run.ca_file is honoured, the certificate
                                                  and host name are verified                       */
    MQCORE_FEATURE_FILTER_CALLBACKS = 1u << 1,   /* the library itself dispatches to a callback per
                                                  filter; received() gets the filter's index       */
    MQCORE_FEATURE_PUBLISH_PROPERTIES = 1u << 2, /* MQTT 5 PUBLISH properties as in
                                                  mqcore_message.properties                        */
    MQCORE_FEATURE_TOPIC_ALIAS = 1u << 3,        /* MQTT 5 section 3.3.2.3.4: an empty topic with an
                                                  alias that was sent before                       */
    MQCORE_FEATURE_RECEIVE_MAXIMUM = 1u << 4, /* mqcore_run.receive_maximum goes into CONNECT     */
    MQCORE_FEATURE_MANY_CONNECTIONS = 1u << 5 /* mqcore_run.connection_count above 1              */
};

/* What a driver claims: constant data of the driver, the same as in the driver.toml beside it. */
typedef struct mqcore_info {
    uint32_t size;          /* sizeof(mqcore_info) as compiled                                   */
    uint32_t shape;         /* one of MQCORE_SHAPE_*                                             */
    const char* id;         /* [a-z0-9-]+, equal to driver.toml                                  */
    const char* library;    /* the client library's own name                                     */
    uint32_t protocols;     /* bits MQCORE_V311, MQCORE_V5                                       */
    uint32_t publish_qos;   /* bits MQCORE_QOS0..2; 0: cannot publish                            */
    uint32_t subscribe_qos; /* bits MQCORE_QOS0..2; 0: cannot subscribe                          */
    uint32_t features;      /* bits MQCORE_FEATURE_*                                             */
    uint32_t max_window;    /* most messages in flight per worker, 0: no limit of the library    */
    uint32_t
        qos0_completion; /* one of MQCORE_QOS0_*; 0 only when publish_qos lacks QoS 0         */
} mqcore_info;

/* One option of the scenario's [driver.ID] table. Stands in arrays: frozen. */
typedef struct mqcore_option {
    const char* key;
    const char*
        value; /* as text: numbers in decimal, booleans as "true" and "false"              */
} mqcore_option;

/* A user property, MQTT 5 section 3.3.2.3.7. Stands in arrays: frozen. */
typedef struct mqcore_user_property {
    const char* name;
    const char* value;
} mqcore_user_property;

/* One set of MQTT 5 PUBLISH properties (section 3.3.2.3); what is null or 0 is not sent. Build the
 * library's own form of it once, in connect().                                                     */
typedef struct mqcore_properties {
    uint32_t size;
    uint32_t user_count;
    const mqcore_user_property* user;
    const char* content_type;
    const char* response_topic;
    const uint8_t* correlation_data;
    uint32_t correlation_data_bytes;
    uint32_t reserved; /* 0                                                                  */
} mqcore_properties;

/* What one run asks for. Filled by the core, valid until destroy() returned. */
typedef struct mqcore_run {
    uint32_t size;
    uint32_t protocol;          /* exactly one of MQCORE_V311, MQCORE_V5                        */
    const char* host;           /* an address or name of the broker                             */
    const char* client_id;      /* of connection 0; connection n > 0 uses "CLIENT_ID-n"         */
    const char* ca_file;        /* PEM; null: plain TCP. TLS is verified or the connect fails    */
    const char* const* topics;  /* mqcore_message.topic indexes it: convert each string once    */
    const char* const* filters; /* subscribe each connection to all of them with filter_qos     */
    const mqcore_option* options; /* an unknown key is MQCORE_CONFIG, not ignored                 */
    uint32_t topic_count;
    uint32_t filter_count;
    uint32_t option_count;
    uint32_t filter_qos; /* a lower granted QoS is MQCORE_UNSUPPORTED                    */
    uint32_t port;
    uint32_t keepalive_s;       /* MQTT keep alive, seconds                                     */
    uint32_t window;            /* most unfinished messages that the source hands out; set the
                                      library's own limits so that they do not bind below it       */
    uint32_t payload_bytes_max; /* largest payload sent or received                             */
    uint32_t connection_count;  /* >= 1; above 1 only with MQCORE_FEATURE_MANY_CONNECTIONS      */
    uint32_t receive_maximum;   /* MQTT 5 section 3.1.2.11.3; 0: do not send the property       */
    const mqcore_properties* const*
        properties; /* mqcore_message.properties indexes it                               */
    uint32_t properties_count;
    uint32_t topic_alias_max; /* largest mqcore_message.topic_alias; 0: none has one             */
} mqcore_run;

/* One message to publish. Core memory: record and payload stay put until done() for its slot. The
 * core owns the record and only hands out a pointer, so it may grow without a size.               */
typedef struct mqcore_message {
    const uint8_t* payload; /* already stamped; null only when payload_bytes is 0                 */
    uint32_t payload_bytes;
    uint16_t topic;       /* index into mqcore_run.topics                                       */
    uint16_t slot;        /* < mqcore_run.window: small enough to index your own array          */
    uint8_t qos;          /* 0, 1, 2                                                            */
    uint8_t retain;       /* 0, 1                                                               */
    uint16_t properties;  /* index into mqcore_run.properties, or MQCORE_NONE                   */
    uint32_t connection;  /* < mqcore_run.connection_count: which connection carries it         */
    uint32_t topic_alias; /* MQTT 5: 0 none; else send this alias. The topic is that of the
                             alias in a connection's first message, and empty from then on      */
    uint32_t reserved;    /* 0                                                                  */
} mqcore_message;

/* Answers of mqcore_source.next(). */
enum {
    MQCORE_SEND = 0, /* *message is yours: publish it now, then done() once for its slot          */
    MQCORE_WAIT = 1, /* nothing to send before wake_ns, or the window is full: ask again at wake_ns
                         or after a done(), whichever is first                                     */
    MQCORE_DRAIN =
        2,          /* the sending phase is over: keep serving the network, ask again at wake_ns */
    MQCORE_STOP = 3 /* return from drive()                                                       */
};

/* Where messages to publish come from. Receive-only, idle and request points use the same loop:
 * their source answers WAIT, SEND and DRAIN as the point needs. There is no second entry.         */
typedef struct mqcore_source mqcore_source;
struct mqcore_source {
    uint32_t size;
    uint32_t reserved;
    uint64_t
        wake_ns; /* set by next() with every WAIT and DRAIN                                   */
    /* The next thing to do, one of MQCORE_SEND, WAIT, DRAIN, STOP. Never blocks, allocates or enters
     * the kernel (but for the clock, where the machine has no vDSO for it). [drive-thread]          */
    int32_t (*next)(mqcore_source* source, const mqcore_message** message);
    /* Blocks until wake_ns, until a done() that ends a full window, or until a fail(). May return
     * early. Drop interpreter locks around it. [drive-thread]                                      */
    void (*wait)(mqcore_source* source);
};

/* Where completions and arrivals go. */
typedef struct mqcore_sink mqcore_sink;
struct mqcore_sink {
    uint32_t size;
    uint32_t reserved;
    /* Exactly once for every SEND, in any order, before disconnect() returns or never:
     *   QoS 0  as mqcore_info.qos0_completion says
     *   QoS 1  PUBACK received (MQTT 5: with a reason code below 0x80)
     *   QoS 2  PUBCOMP received (likewise)
     * Any status but MQCORE_OK counts the message as failed. [any-thread]                          */
    void (*done)(mqcore_sink* sink, uint32_t slot, int32_t status);
    /* Once for every application message that arrives; the payload is read before the call returns.
     * filter: index into mqcore_run.filters when the library dispatched by filter, else
     * MQCORE_NONE. [any-thread, one call at a time]                                                */
    void (*received)(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                     uint32_t filter, uint32_t connection);
};

/* Levels of mqcore_host.log(). */
enum { MQCORE_LOG_DEBUG = 0, MQCORE_LOG_INFO = 1, MQCORE_LOG_WARNING = 2, MQCORE_LOG_ERROR = 3 };

/* What the core offers a driver. Valid from create() until destroy() returned. */
typedef struct mqcore_host mqcore_host;
struct mqcore_host {
    uint32_t size;
    uint16_t abi_major;
    uint16_t abi_minor;
    const char* version; /* of mqcore, for messages                                            */
    const char* environment; /* folder of the language environment made for this driver (for
                                Python its venv), null when it has none                            */
    /* An optional interface of the core, null when it has none of that name. [any-thread]          */
    const void* (*extension)(const mqcore_host* host, const char* id);
    /* A line for the run's log; the text is copied. Not from the measured path. [any-thread]       */
    void (*log)(const mqcore_host* host, int32_t level, const char* text);
    /* Why a call is about to return, or why a connection was lost: the first text is kept and
     * becomes the run's reason. Copied. While drive() runs it ends the run: wait() returns and next()
     * answers STOP. [any-thread]                                                                   */
    void (*fail)(const mqcore_host* host, int32_t status, const char* text);
    /* Provenance for the result file: "library.version", "tls.library", ... Copied. [any-thread]   */
    void (*note)(const mqcore_host* host, const char* key, const char* value);
};

/* The table of a driver: constant data of the driver that the core neither frees nor writes. */
typedef struct mqcore_driver {
    uint32_t magic;     /* MQCORE_MAGIC                                                     */
    uint32_t size;      /* sizeof(mqcore_driver) as compiled                                */
    uint16_t abi_major; /* MQCORE_ABI_MAJOR as compiled                                     */
    uint16_t abi_minor; /* MQCORE_ABI_MINOR as compiled                                     */
    uint16_t
        needs_host_minor; /* the lowest minor of the core that this driver works with         */
    uint16_t reserved;    /* 0                                                                */
    const mqcore_info* info;
    /* Makes an instance in *self. On failure *self may be half made: destroy() is called unless it
     * is null. [main-thread]                                                                       */
    int32_t (*create)(const mqcore_host* host, void** self);
    /* Connects and subscribes as the run asks; returns when the broker has confirmed. It should give
     * up by itself after 10 s; the core ends the worker some time later. [main-thread]             */
    int32_t (*connect)(void* self, const mqcore_run* run);
    /* The loop. Returns MQCORE_OK only after MQCORE_STOP. [main-thread]                            */
    int32_t (*drive)(void* self, mqcore_source* source, mqcore_sink* sink);
    /* Leaves the broker; called only after connect() has returned MQCORE_OK. Neither done() nor
     * received() may be called once it has returned. [main-thread]                                 */
    int32_t (*disconnect)(void* self);
    /* Frees the instance. [main-thread]                                                            */
    void (*destroy)(void* self);
    /* An optional interface of the driver, null when it has none of that name. The pointer itself
     * may be null: no extensions. [main-thread]                                                    */
    const void* (*extension)(void* self, const char* id);
} mqcore_driver;

/* The one symbol of a driver. driver_folder is the folder that holds its driver.toml, so that one
 * library can host many drivers (all Python clients share one); most drivers ignore it. Constant
 * data, no thread, no file but those of the folder. Null: this library cannot host that folder, and
 * the reason was written to stderr. [main-thread]                                                  */
MQCORE_EXPORT const mqcore_driver* mqcore_driver_entry(const char* driver_folder);

#ifdef __cplusplus
}
#endif
#endif
