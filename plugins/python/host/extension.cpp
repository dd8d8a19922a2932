// _mqcore: the half of the host that speaks Python. Holds the interpreter of this process, turns the
// driver functions into calls of lib/mqcore/session.py and offers that module fail, log and note.

#include "bridge.hpp"
#include "objects.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace mqcore::python {
namespace {

// One interpreter a process, one driver a process.
const mqcore_host* the_host = nullptr;
PyThreadState* main_thread = nullptr; // saved between the driver functions
std::int32_t first_failure = MQCORE_OK;
PyObject* live_source = nullptr; // borrowed from the instance

struct Instance {
    PyObject* session = nullptr; // mqcore.session.Session
    PyObject* source = nullptr;
    PyObject* sink = nullptr;
};

// A new reference that frees itself.
struct Decref {
    void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Reference = std::unique_ptr<PyObject, Decref>;

// The GIL for the length of one driver function. Threads of the library run between them.
class Interpreter {
  public:
    Interpreter() { PyEval_RestoreThread(main_thread); }
    ~Interpreter() { main_thread = PyEval_SaveThread(); }
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
};

void fail(std::int32_t status, const char* text) {
    if (first_failure == MQCORE_OK)
        first_failure = status == MQCORE_OK ? std::int32_t{MQCORE_LIBRARY} : status;
    if (the_host)
        the_host->fail(the_host, status, text);
    if (live_source)
        interrupt(live_source);
}

// What Python itself could not turn into a status: an error in the host's own half.
std::int32_t fail_by_python_error(const char* where) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const Reference text(value ? PyObject_Str(value) : nullptr);
    const char* words = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
    fail(MQCORE_LIBRARY,
         (std::string(where) + ": " + (words ? words : "unknown Python error")).c_str());
    PyErr_Restore(type, value, traceback);
    PyErr_Print();
    return MQCORE_LIBRARY;
}

// Session methods return the status of what they raised.
std::int32_t status_of(PyObject* returned, const char* where) {
    const Reference value(returned);
    const long status = value ? PyLong_AsLong(value.get()) : -1;
    if (!value || (status == -1 && PyErr_Occurred()))
        return fail_by_python_error(where);
    return static_cast<std::int32_t>(status);
}

// ---- functions of the module ----

PyObject* module_fail(PyObject*, PyObject* arguments) {
    int status;
    const char* text;
    if (!PyArg_ParseTuple(arguments, "is", &status, &text))
        return nullptr;
    fail(status, text);
    Py_RETURN_NONE;
}

PyObject* module_log(PyObject*, PyObject* arguments) {
    int level;
    const char* text;
    if (!PyArg_ParseTuple(arguments, "is", &level, &text))
        return nullptr;
    if (the_host)
        the_host->log(the_host, level, text);
    Py_RETURN_NONE;
}

PyObject* module_note(PyObject*, PyObject* arguments) {
    const char *key, *value;
    if (!PyArg_ParseTuple(arguments, "ss", &key, &value))
        return nullptr;
    if (the_host)
        the_host->note(the_host, key, value);
    Py_RETURN_NONE;
}

PyMethodDef module_functions[] = {
    {"fail", module_fail, METH_VARARGS,
     "fail(status, text): the first one becomes the run's reason."},
    {"log", module_log, METH_VARARGS, "log(level, text): a line in the run's log."},
    {"note", module_note, METH_VARARGS, "note(key, value): provenance for the result."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_definition{PyModuleDef_HEAD_INIT,
                              "_mqcore",
                              "The core's half of a run.",
                              -1,
                              module_functions,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr};

PyObject* make_module() {
    Reference module(PyModule_Create(&module_definition));
    if (!module || !add_objects(module.get()))
        return nullptr;
    constexpr struct {
        const char* name;
        int value;
    } kConstants[] = {{"OK", MQCORE_OK},
                      {"UNSUPPORTED", MQCORE_UNSUPPORTED},
                      {"CONFIG", MQCORE_CONFIG},
                      {"NETWORK", MQCORE_NETWORK},
                      {"LIBRARY", MQCORE_LIBRARY},
                      {"V311", MQCORE_V311},
                      {"V5", MQCORE_V5},
                      {"LOG_DEBUG", MQCORE_LOG_DEBUG},
                      {"LOG_INFO", MQCORE_LOG_INFO},
                      {"LOG_WARNING", MQCORE_LOG_WARNING},
                      {"LOG_ERROR", MQCORE_LOG_ERROR}};
    for (const auto& [name, value] : kConstants)
        if (PyModule_AddIntConstant(module.get(), name, value) != 0)
            return nullptr;
    return module.release();
}

// ---- the interpreter ----

bool same_folder(const char* one, const char* other) {
    const std::unique_ptr<char, decltype(&std::free)> a(::realpath(one, nullptr), &std::free);
    const std::unique_ptr<char, decltype(&std::free)> b(::realpath(other, nullptr), &std::free);
    return a && b && std::string(a.get()) == b.get();
}

// The GIL is held when it returns OK or a failure after the interpreter was started.
std::int32_t start_interpreter(const Environment& environment) {
    if (PyImport_AppendInittab("_mqcore", make_module) != 0) {
        fail(MQCORE_LIBRARY, "cannot register the module _mqcore");
        return MQCORE_LIBRARY;
    }
    Py_InitializeEx(0); // 0: no signal handlers
    const char* prefix = "";
    if (PyObject* value = PySys_GetObject("prefix"))
        if (const char* text = PyUnicode_AsUTF8AndSize(value, nullptr))
            prefix = text;
    if (!same_folder(prefix, environment.venv)) {
        fail(MQCORE_CONFIG, (std::string("Python started with prefix '") + prefix +
                             "' instead of its environment '" + environment.venv + "'")
                                .c_str());
        return MQCORE_CONFIG;
    }
    PyObject* path = PySys_GetObject("path");
    const Reference folder(
        PyUnicode_FromString((std::string(environment.host_folder) + "/lib").c_str()));
    if (!path || !folder || PyList_Insert(path, 0, folder.get()) != 0)
        return fail_by_python_error("sys.path");
    return MQCORE_OK;
}

// ---- the driver functions ----

std::int32_t create(const mqcore_host* host, const Environment* environment, void** self) {
    the_host = host;
    first_failure = MQCORE_OK;
    if (!main_thread) {
        const std::int32_t status = start_interpreter(*environment);
        if (Py_IsInitialized())
            main_thread = PyEval_SaveThread();
        if (status != MQCORE_OK)
            return status;
    }
    const Interpreter interpreter;
    const Reference module(PyImport_ImportModule("mqcore.session"));
    if (!module)
        return fail_by_python_error("mqcore.session");
    Reference session(PyObject_CallMethod(module.get(), "Session", "ss", environment->driver_folder,
                                          environment->shape));
    if (!session)
        return fail_by_python_error("mqcore.session.Session");
    auto* instance = new Instance{.session = session.release()};
    *self = instance;
    return status_of(PyObject_CallMethod(instance->session, "create", nullptr), "create");
}

Reference strings(const char* const* texts, std::uint32_t count) {
    Reference tuple(PyTuple_New(count));
    for (std::uint32_t index = 0; tuple && index < count; ++index) {
        PyObject* text = PyUnicode_FromString(texts[index]);
        if (!text || PyTuple_SetItem(tuple.get(), index, text) != 0)
            return nullptr;
    }
    return tuple;
}

Reference options_of(const mqcore_run& run) {
    Reference options(PyDict_New());
    for (std::uint32_t index = 0; options && index < run.option_count; ++index) {
        const Reference value(PyUnicode_FromString(run.options[index].value));
        if (!value || PyDict_SetItemString(options.get(), run.options[index].key, value.get()) != 0)
            return nullptr;
    }
    return options;
}

// The one set of PUBLISH properties that every message of the run carries, or None.
Reference properties_of(const mqcore_run& run) {
    if (run.properties_count == 0)
        return Reference(Py_NewRef(Py_None));
    const mqcore_properties& set = *run.properties[0];
    Reference user(PyTuple_New(static_cast<Py_ssize_t>(set.user_count)));
    for (std::uint32_t index = 0; user && index < set.user_count; ++index) {
        PyObject* pair = Py_BuildValue("(ss)", set.user[index].name, set.user[index].value);
        if (!pair || PyTuple_SetItem(user.get(), static_cast<Py_ssize_t>(index), pair) != 0)
            return nullptr;
    }
    if (!user)
        return nullptr;
    return Reference(Py_BuildValue(
        "{s:z,s:z,s:y#,s:O}", "content_type", set.content_type, "response_topic",
        set.response_topic, "correlation_data", reinterpret_cast<const char*>(set.correlation_data),
        static_cast<Py_ssize_t>(set.correlation_data_bytes), "user", user.get()));
}

Reference fields_of(const mqcore_run& run) {
    const Reference topics = strings(run.topics, run.topic_count);
    const Reference filters = strings(run.filters, run.filter_count);
    const Reference options = options_of(run);
    const Reference properties = properties_of(run);
    if (!topics || !filters || !options || !properties)
        return nullptr;
    return Reference(Py_BuildValue(
        "{s:I,s:s,s:s,s:z,s:O,s:O,s:O,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:O,s:I}", "protocol",
        run.protocol, "host", run.host, "client_id", run.client_id, "ca_file", run.ca_file,
        "topics", topics.get(), "filters", filters.get(), "options", options.get(), "filter_qos",
        run.filter_qos, "port", run.port, "keepalive_s", run.keepalive_s, "window", run.window,
        "payload_bytes_max", run.payload_bytes_max, "connection_count", run.connection_count,
        "receive_maximum", run.receive_maximum, "properties", properties.get(), "topic_alias",
        run.topic_alias_max));
}

void forget(Instance& instance) {
    live_source = nullptr;
    for (PyObject** object : {&instance.source, &instance.sink}) {
        PyObject* old = *object;
        *object = nullptr;
        Py_XDECREF(old);
    }
}

std::int32_t connect(void* self, const mqcore_run* run) {
    const Interpreter interpreter;
    auto& instance = *static_cast<Instance*>(self);
    first_failure = MQCORE_OK;
    forget(instance);
    instance.source = new_source(*run);
    instance.sink = instance.source ? new_sink(instance.source) : nullptr;
    const Reference fields = instance.sink ? fields_of(*run) : nullptr;
    if (!fields)
        return fail_by_python_error("connect");
    live_source = instance.source;
    const std::int32_t status =
        status_of(PyObject_CallMethod(instance.session, "connect", "OOO", fields.get(),
                                      instance.source, instance.sink),
                  "connect");
    return status != MQCORE_OK ? status : first_failure;
}

std::int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    const Interpreter interpreter;
    auto& instance = *static_cast<Instance*>(self);
    if (first_failure != MQCORE_OK) // the connection was lost before the drive began
        return first_failure;
    if (const std::uint32_t early = attach(instance.source, instance.sink, source, sink))
        the_host->log(
            the_host, MQCORE_LOG_WARNING,
            (std::to_string(early) + " messages came before drive() and count nowhere").c_str());
    const std::int32_t status =
        status_of(PyObject_CallMethod(instance.session, "drive", nullptr), "drive");
    return status != MQCORE_OK ? status : first_failure; // a callback's, which ended the loop
}

std::int32_t disconnect(void* self) {
    const Interpreter interpreter;
    auto& instance = *static_cast<Instance*>(self);
    const std::int32_t status =
        status_of(PyObject_CallMethod(instance.session, "disconnect", nullptr), "disconnect");
    if (instance.source)
        detach(instance.source, instance.sink);
    return status;
}

void destroy(void* self) {
    const Interpreter interpreter;
    auto* instance = static_cast<Instance*>(self);
    if (instance->source)
        detach(instance->source, instance->sink);
    status_of(PyObject_CallMethod(instance->session, "destroy", nullptr), "destroy");
    forget(*instance);
    Py_XDECREF(instance->session);
    delete instance;
    the_host = nullptr;
}

const Bridge bridge{create, connect, drive, disconnect, destroy};

} // namespace
} // namespace mqcore::python

extern "C" MQCORE_EXPORT const mqcore::python::Bridge* mqcore_python_bridge() {
    return &mqcore::python::bridge;
}
