#include "objects.hpp"

#include <structmember.h> // not part of the limited API by name, but plain numbers that never changed

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>
#include <poll.h>

namespace mqcore::python {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Answers of next() that are no message; TURN is the host's own: let the library's loop have a turn.
// A QoS 0 publish that never suspends would otherwise starve keep-alive and inbound packets for as
// long as the source has something to send.
enum Answer : int { kWait = MQCORE_WAIT, kDrain = MQCORE_DRAIN, kStop = MQCORE_STOP, kTurn = 4 };

// Messages between two turns. An idle turn of an event loop costs 3 to 5 us, so 64 keep it near 1 %.
constexpr std::uint32_t kBurst = 64;

// A library that refuses messages for longer than this does not keep the core from saying that the run
// is over. Each question may bring one more message, so it is asked seldom.
constexpr std::uint64_t kPatience = 10'000'000;

std::uint64_t now_ns() {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// One a slot, made once and handed out again and again: only the payload is always new, because its
// stamp is. Attributes are object members, which CPython reads without a call.
struct Message {
    PyObject_HEAD PyObject* topic;
    PyObject* payload;
    PyObject* qos;
    PyObject* retain;
    PyObject* slot;
    PyObject* connection;
    Message* following; // among those that were put back
    std::uint32_t connection_index;
    std::uint16_t topic_index;
    std::uint8_t qos_value;
    std::uint8_t retain_value;
};

struct Source {
    PyObject_HEAD mqcore_source* core; // null: no drive
    PyObject* topics;                  // tuple of str
    PyObject* resume;   // called when a done() ends a full window; null or None: nobody
    Message** messages; // by slot; null where the slot was never used
    Message* put_back;  // the oldest of those to be handed out again
    Message* last_put_back;
    std::uint64_t ask_core_ns; // for something else than those; 0: nothing was put back
    std::uint32_t window;
    std::uint32_t outstanding; // SEND without done()
    std::uint32_t burst;       // messages since the loop had its turn
    int answer;
    std::uint64_t waiting_since_ns; // poll() slices a long wait from here; 0: not yet
    bool is_full;                   // the last answer was WAIT for a full window
    bool has_progress;              // and a done() has ended that
    bool has_stopped;
};

struct Sink {
    PyObject_HEAD mqcore_sink* core; // null: nobody listens
    Source* source;
    std::uint32_t early; // arrivals before drive()
};

PyTypeObject* message_type = nullptr;
PyTypeObject* source_type = nullptr;
PyTypeObject* sink_type = nullptr;

template <class T>
T* as(PyObject* object) {
    return reinterpret_cast<T*>(object);
}

template <class T>
PyObject* object(T* pointer) {
    return reinterpret_cast<PyObject*>(pointer);
}

template <class T>
T* allocate(PyTypeObject* type) {
    return as<T>(PyType_GenericAlloc(type, 0)); // zeroed
}

void replace(PyObject*& field, PyObject* fresh) {
    PyObject* old = field;
    field = fresh;
    Py_XDECREF(old);
}

void free_object(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

// ---- Message ----

void message_dealloc(PyObject* self) {
    auto* message = as<Message>(self);
    for (PyObject* field : {message->topic, message->payload, message->qos, message->retain,
                            message->slot, message->connection})
        Py_XDECREF(field);
    free_object(self);
}

Message* new_message(const Source* source, const mqcore_message& from) {
    auto* message = allocate<Message>(message_type);
    if (!message)
        return nullptr;
    message->topic = PyTuple_GetItem(source->topics, from.topic);
    Py_XINCREF(message->topic);
    message->topic_index = from.topic;
    message->slot = PyLong_FromLong(from.slot);
    message->qos = PyLong_FromLong(message->qos_value = from.qos);
    message->retain = PyBool_FromLong(message->retain_value = from.retain);
    message->connection = PyLong_FromUnsignedLong(message->connection_index = from.connection);
    if (message->topic && message->slot && message->qos && message->retain && message->connection)
        return message;
    Py_DECREF(object(message));
    return nullptr;
}

// False with a Python error set.
bool refresh(Message* message, const Source* source, const mqcore_message& from) {
    if (message->topic_index != from.topic) {
        PyObject* topic = PyTuple_GetItem(source->topics, from.topic);
        if (!topic)
            return false;
        Py_INCREF(topic);
        replace(message->topic, topic);
        message->topic_index = from.topic;
    }
    if (message->qos_value != from.qos)
        replace(message->qos, PyLong_FromLong(message->qos_value = from.qos));
    if (message->retain_value != from.retain)
        replace(message->retain, PyBool_FromLong(message->retain_value = from.retain));
    if (message->connection_index != from.connection)
        replace(message->connection,
                PyLong_FromUnsignedLong(message->connection_index = from.connection));
    return true;
}

// ---- Source ----

void source_dealloc(PyObject* self) {
    auto* source = as<Source>(self);
    for (std::uint32_t slot = 0; slot < source->window; ++slot)
        Py_XDECREF(object(source->messages[slot]));
    delete[] source->messages;
    Py_XDECREF(source->topics);
    Py_XDECREF(source->resume);
    free_object(self);
}

PyObject* say(Source* source, int answer) {
    source->answer = answer;
    Py_RETURN_NONE;
}

// -- measured path begins --

PyObject* hand_out_again(Source* source) {
    Message* message = source->put_back;
    source->put_back = message->following;
    if (now_ns() >= source->ask_core_ns)
        source->ask_core_ns = now_ns() + kPatience;
    ++source->burst;
    Py_INCREF(object(message));
    return object(message);
}

PyObject* source_next(PyObject* self, PyObject*) {
    auto* source = as<Source>(self);
    if (source->burst >= kBurst) {
        source->burst = 0;
        return say(source, kTurn);
    }
    if (!source->core || source->has_stopped)
        return say(source, kStop);
    if (source->put_back && now_ns() < source->ask_core_ns)
        return hand_out_again(source);
    const mqcore_message* from;
    const std::int32_t answer = source->core->next(source->core, &from);
    if (answer != MQCORE_SEND) {
        source->burst = 0;
        source->waiting_since_ns = 0;
        source->has_progress = false;
        source->is_full = answer == MQCORE_WAIT && source->outstanding >= source->window;
        source->has_stopped = answer == MQCORE_STOP;
        if (source->put_back && !source->has_stopped)
            return hand_out_again(source);
        return say(source, answer);
    }
    ++source->outstanding;
    Message*& message = source->messages[from->slot];
    if (!message) {
        if (!(message = new_message(source, *from)))
            return nullptr;
    } else if (!refresh(message, source, *from)) {
        return nullptr;
    }
    PyObject* payload = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(from->payload),
                                                  static_cast<Py_ssize_t>(from->payload_bytes));
    if (!payload)
        return nullptr;
    replace(message->payload, payload);
    if (source->put_back) { // this one stays behind those that came before it
        message->following = nullptr;
        source->last_put_back = source->last_put_back->following = message;
        return hand_out_again(source);
    }
    ++source->burst;
    source->ask_core_ns = 0;
    Py_INCREF(object(message));
    return object(message);
}

PyObject* source_wait(PyObject* self, PyObject*) {
    auto* source = as<Source>(self);
    if (mqcore_source* core = source->core) {
        Py_BEGIN_ALLOW_THREADS core->wait(core);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

// How long poll() may sleep: until the source wants to be asked again, and one second at most, so that
// a library's housekeeping is never further apart. 0: ask the source now.
std::uint64_t sleep_ns(Source* source) {
    if (!source->core || source->has_progress || source->has_stopped)
        return 0;
    const std::uint64_t now = now_ns();
    if (source->waiting_since_ns == 0)
        source->waiting_since_ns = now;
    const std::uint64_t until = std::min(source->core->wake_ns, source->waiting_since_ns + kSecond);
    return until > now ? until - now : 0;
}

// poll(fd, write, block) -> bits: 1 readable (or closed), 2 writable, 0 ask next() again.
PyObject* source_poll(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    auto* source = as<Source>(self);
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "poll(fd, write, block) takes three arguments");
        return nullptr;
    }
    const long fd = PyLong_AsLong(arguments[0]);
    if (fd == -1 && PyErr_Occurred())
        return nullptr;
    pollfd entry{.fd = static_cast<int>(fd),
                 .events = static_cast<short>(arguments[1] == Py_True ? POLLIN | POLLOUT : POLLIN),
                 .revents = 0};
    if (arguments[2] == Py_True) {
        const std::uint64_t nanoseconds = sleep_ns(source);
        if (nanoseconds == 0)
            return PyLong_FromLong(0);
        const timespec timeout{.tv_sec = static_cast<time_t>(nanoseconds / kSecond),
                               .tv_nsec = static_cast<long>(nanoseconds % kSecond)};
        Py_BEGIN_ALLOW_THREADS ::ppoll(
            &entry, 1, &timeout, nullptr); // nanoseconds; poll() would round up to the millisecond
        Py_END_ALLOW_THREADS
    } else {
        ::poll(&entry, 1, 0);
    }
    const int ready = (entry.revents & POLLOUT ? 2 : 0) | (entry.revents & ~POLLOUT ? 1 : 0);
    return PyLong_FromLong(ready);
}

PyObject* source_delay(PyObject* self, PyObject*) {
    const auto* source = as<Source>(self);
    if (!source->core || source->has_stopped)
        return PyFloat_FromDouble(0.0);
    const std::uint64_t now = now_ns();
    const std::uint64_t wake = source->core->wake_ns;
    return PyFloat_FromDouble(wake > now ? static_cast<double>(wake - now) * 1e-9 : 0.0);
}

PyObject* sink_done(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    auto* sink = as<Sink>(self);
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "done(slot, status=OK) takes one or two arguments");
        return nullptr;
    }
    const long slot = PyLong_AsLong(arguments[0]);
    const long status = count == 2 ? PyLong_AsLong(arguments[1]) : long{MQCORE_OK};
    if ((slot == -1 || status == -1) && PyErr_Occurred())
        return nullptr;
    if (!sink->core)
        Py_RETURN_NONE;
    sink->core->done(sink->core, static_cast<std::uint32_t>(slot),
                     static_cast<std::int32_t>(status));
    Source* source = sink->source;
    if (static_cast<unsigned long>(slot) < source->window)
        if (Message* message = source->messages[slot]; message && message->payload)
            replace(message->payload, nullptr); // so that a slot at rest holds no memory
    if (source->outstanding > 0)
        --source->outstanding;
    if (source->is_full) {
        source->is_full = false;
        source->has_progress = true;
        if (source->resume && source->resume != Py_None)
            return PyObject_CallNoArgs(source->resume);
    }
    Py_RETURN_NONE;
}

PyObject* sink_received(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    auto* sink = as<Sink>(self);
    if (count < 1 || count > 3) {
        PyErr_SetString(
            PyExc_TypeError,
            "received(payload, filter=NONE, connection=0) takes one to three arguments");
        return nullptr;
    }
    const unsigned long filter = count > 1 ? PyLong_AsUnsignedLong(arguments[1]) : MQCORE_NONE;
    const unsigned long connection = count > 2 ? PyLong_AsUnsignedLong(arguments[2]) : 0;
    if (count > 1 && PyErr_Occurred())
        return nullptr;
    if (!sink->core) {
        ++sink->early;
        Py_RETURN_NONE;
    }
    const auto report = [&](const void* payload, Py_ssize_t bytes) {
        sink->core->received(sink->core, payload, static_cast<std::uint32_t>(bytes),
                             static_cast<std::uint32_t>(filter),
                             static_cast<std::uint32_t>(connection));
    };
    PyObject* payload = arguments[0];
    if (Py_IS_TYPE(payload, &PyBytes_Type)) {
        report(PyBytes_AsString(payload), PyBytes_Size(payload));
    } else {
        Py_buffer view;
        if (PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE) != 0)
            return nullptr;
        report(view.buf, view.len);
        PyBuffer_Release(&view);
    }
    Py_RETURN_NONE;
}

// -- measured path ends --

PyObject* source_put_back(PyObject* self, PyObject* argument) {
    auto* source = as<Source>(self);
    if (!Py_IS_TYPE(argument, message_type)) {
        PyErr_SetString(PyExc_TypeError, "put_back(message) takes the message of the last next()");
        return nullptr;
    }
    auto* message = as<Message>(argument); // kept alive by its slot
    if (!source->put_back)
        source->last_put_back = message;
    if (source->ask_core_ns == 0)
        source->ask_core_ns = now_ns() + kPatience;
    message->following = source->put_back;
    source->put_back = message;
    source->burst = kBurst; // the library is busy: give it a turn first
    Py_RETURN_NONE;
}

PyObject* source_wake_ns(PyObject* self, void*) {
    const auto* source = as<Source>(self);
    return PyLong_FromUnsignedLongLong(source->core && !source->has_stopped ? source->core->wake_ns
                                                                            : 0);
}

void sink_dealloc(PyObject* self) {
    Py_XDECREF(object(as<Sink>(self)->source));
    free_object(self);
}

// ---- type tables ----

template <class F>
PyCFunction method(F function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

template <class F>
void* slot(F function) {
    return reinterpret_cast<void*>(function);
}

PyMemberDef message_members[] = {
    {"topic", T_OBJECT_EX, offsetof(Message, topic), READONLY, "str, the same object every time"},
    {"payload", T_OBJECT_EX, offsetof(Message, payload), READONLY,
     "bytes, stamped; gone after done()"},
    {"qos", T_OBJECT_EX, offsetof(Message, qos), READONLY, "0, 1, 2"},
    {"retain", T_OBJECT_EX, offsetof(Message, retain), READONLY, "bool"},
    {"slot", T_OBJECT_EX, offsetof(Message, slot), READONLY, "for Sink.done(); below the window"},
    {"connection", T_OBJECT_EX, offsetof(Message, connection), READONLY,
     "which connection carries it"},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot message_slots[] = {
    {Py_tp_dealloc, slot(message_dealloc)}, {Py_tp_members, message_members}, {0, nullptr}};

PyMethodDef source_methods[] = {
    {"next", method(source_next), METH_NOARGS, "A Message, or None: then see `answer`."},
    {"wait", method(source_wait), METH_NOARGS,
     "Blocks until wake_ns or until the window has room."},
    {"poll", method(source_poll), METH_FASTCALL,
     "poll(fd, write, block): as wait(), watching a socket."},
    {"delay", method(source_delay), METH_NOARGS, "Seconds until wake_ns."},
    {"put_back", method(source_put_back), METH_O,
     "The library is full: hand this message out again."},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef source_members[] = {
    {"answer", T_INT, offsetof(Source, answer), READONLY, "WAIT, DRAIN, STOP or TURN"},
    {"window", T_UINT, offsetof(Source, window), READONLY, "most unfinished messages"},
    {"resume", T_OBJECT, offsetof(Source, resume), 0, "called when a done() ends a full window"},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef source_properties[] = {
    {"wake_ns", source_wake_ns, nullptr, "CLOCK_MONOTONIC instant to ask again at", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot source_slots[] = {{Py_tp_dealloc, slot(source_dealloc)},
                              {Py_tp_methods, source_methods},
                              {Py_tp_members, source_members},
                              {Py_tp_getset, source_properties},
                              {0, nullptr}};

PyMethodDef sink_methods[] = {
    {"done", method(sink_done), METH_FASTCALL, "done(slot, status=OK): once for every message."},
    {"received", method(sink_received), METH_FASTCALL,
     "received(payload, filter=NONE, connection=0)"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot sink_slots[] = {
    {Py_tp_dealloc, slot(sink_dealloc)}, {Py_tp_methods, sink_methods}, {0, nullptr}};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;

PyType_Spec message_spec{"_mqcore.Message", sizeof(Message), 0, kFlags, message_slots};
PyType_Spec source_spec{"_mqcore.Source", sizeof(Source), 0, kFlags, source_slots};
PyType_Spec sink_spec{"_mqcore.Sink", sizeof(Sink), 0, kFlags, sink_slots};

bool add_type(PyObject* module, PyTypeObject*& type, PyType_Spec& spec) {
    type = as<PyTypeObject>(PyType_FromSpec(&spec));
    return type && PyModule_AddType(module, type) == 0;
}

} // namespace

bool add_objects(PyObject* module) {
    return add_type(module, message_type, message_spec) &&
           add_type(module, source_type, source_spec) && add_type(module, sink_type, sink_spec) &&
           PyModule_AddIntConstant(module, "WAIT", kWait) == 0 &&
           PyModule_AddIntConstant(module, "DRAIN", kDrain) == 0 &&
           PyModule_AddIntConstant(module, "STOP", kStop) == 0 &&
           PyModule_AddIntConstant(module, "TURN", kTurn) == 0 &&
           PyModule_AddIntConstant(module, "NONE", MQCORE_NONE) == 0;
}

PyObject* new_source(const mqcore_run& run) {
    auto* source = allocate<Source>(source_type);
    if (!source)
        return nullptr;
    source->answer = kStop;
    source->messages = new (std::nothrow) Message*[run.window]();
    source->topics = PyTuple_New(run.topic_count);
    if (!source->messages || !source->topics) {
        Py_DECREF(object(source));
        return PyErr_Occurred() ? nullptr : PyErr_NoMemory();
    }
    source->window = run.window;
    for (std::uint32_t index = 0; index < run.topic_count; ++index) {
        PyObject* topic = PyUnicode_FromString(run.topics[index]);
        if (!topic || PyTuple_SetItem(source->topics, index, topic) != 0) {
            Py_DECREF(object(source));
            return nullptr;
        }
    }
    return object(source);
}

PyObject* new_sink(PyObject* source) {
    auto* sink = allocate<Sink>(sink_type);
    if (!sink)
        return nullptr;
    Py_INCREF(source);
    sink->source = as<Source>(source);
    return object(sink);
}

std::uint32_t attach(PyObject* source, PyObject* sink, mqcore_source* core_source,
                     mqcore_sink* core_sink) {
    as<Source>(source)->core = core_source;
    as<Source>(source)->has_stopped = false;
    as<Sink>(sink)->core = core_sink;
    return as<Sink>(sink)->early;
}

void detach(PyObject* source, PyObject* sink) {
    as<Source>(source)->core = nullptr;
    as<Sink>(sink)->core = nullptr;
}

void interrupt(PyObject* source) { as<Source>(source)->has_stopped = true; }

} // namespace mqcore::python
