/* The null driver: completes every message at once and connects to nothing. A run with it shows what
 * the core costs a native client, and it is the shortest complete driver to read. When the run has
 * filters, it hands each message straight back as an arrival, so the cost of receiving can be told. */
#include "mqcore/driver.h"

static const mqcore_info info = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_SYNC,
    .id = "null",
    .library = "none",
    .protocols = MQCORE_V311 | MQCORE_V5,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .features = MQCORE_FEATURE_MANY_CONNECTIONS,
    .max_window = 0,
    .qos0_completion = MQCORE_QOS0_HANDED_OVER,
};

/* One instance a process: the worker hosts one run. */
static const mqcore_host* current_host;
static const mqcore_run* current_run;

static int32_t create(const mqcore_host* host, void** self) {
    current_host = host;
    host->note(host, "library.version", "none");
    *self = (void*)&info;
    return MQCORE_OK;
}

static int32_t connect_all(void* self, const mqcore_run* run) {
    (void)self;
    if (run->option_count > 0) {
        current_host->fail(current_host, MQCORE_CONFIG, "the null driver has no options");
        return MQCORE_CONFIG;
    }
    current_run = run;
    return MQCORE_OK;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    const int hands_back = current_run->filter_count > 0;
    const mqcore_message* message;
    (void)self;
    for (;;) {
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            if (hands_back)
                sink->received(sink, message->payload, message->payload_bytes, 0,
                               message->connection);
            sink->done(sink, message->slot, MQCORE_OK);
            break;
        case MQCORE_WAIT:
        case MQCORE_DRAIN:
            source->wait(source);
            break;
        default:
            return MQCORE_OK;
        }
    }
}

static int32_t disconnect_all(void* self) {
    (void)self;
    return MQCORE_OK;
}

static void destroy(void* self) { (void)self; }

static const mqcore_driver table = {
    .magic = MQCORE_MAGIC,
    .size = sizeof(mqcore_driver),
    .abi_major = MQCORE_ABI_MAJOR,
    .abi_minor = MQCORE_ABI_MINOR,
    .needs_host_minor = 0,
    .info = &info,
    .create = create,
    .connect = connect_all,
    .drive = drive,
    .disconnect = disconnect_all,
    .destroy = destroy,
};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &table;
}
