// python-host.so: the shared library of every Python client. Reads the client's driver.toml for the
// constant claims, finds the libpython of the client's environment and hands over to the extension.

#include "bridge.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <utility>
#include <vector>

extern char** environ;

namespace mqcore::python {
namespace {

namespace fs = std::filesystem;

// The driver that this process hosts. The table's functions know no folder, so it is one a process.
struct Driver {
    std::string folder, id, library, shape;
    mqcore_info info{};
    mqcore_driver table{};
    const Bridge* bridge = nullptr; // once the interpreter is there
};
Driver* the_driver = nullptr; // never freed: the core keeps the table until the process ends

using Names = std::vector<std::pair<std::string_view, std::uint32_t>>;

const Names kShapes{{"sync", MQCORE_SHAPE_SYNC},
                    {"nowait", MQCORE_SHAPE_NOWAIT},
                    {"awaited", MQCORE_SHAPE_AWAITED}};
const Names kProtocols{{"3.1.1", MQCORE_V311}, {"5", MQCORE_V5}};
const Names kFeatures{{"tls", MQCORE_FEATURE_TLS},
                      {"filter-callbacks", MQCORE_FEATURE_FILTER_CALLBACKS},
                      {"publish-properties", MQCORE_FEATURE_PUBLISH_PROPERTIES},
                      {"topic-alias", MQCORE_FEATURE_TOPIC_ALIAS},
                      {"receive-maximum", MQCORE_FEATURE_RECEIVE_MAXIMUM},
                      {"many-connections", MQCORE_FEATURE_MANY_CONNECTIONS}};
const Names kCompletions{{"handed over", MQCORE_QOS0_HANDED_OVER},
                         {"written", MQCORE_QOS0_WRITTEN},
                         {"drained", MQCORE_QOS0_DRAINED}};

std::uint32_t value_of(const Names& names, std::string_view name) {
    for (const auto& [known, value] : names)
        if (known == name)
            return value;
    return 0;
}

std::uint32_t bits_of(const Names& names, const toml::node_view<toml::node>& list) {
    std::uint32_t bits = 0;
    if (const toml::array* entries = list.as_array())
        for (const toml::node& entry : *entries)
            bits |= value_of(names, entry.value_or(std::string_view{}));
    return bits;
}

std::uint32_t qos_bits(const toml::node_view<toml::node>& list) {
    std::uint32_t bits = 0;
    if (const toml::array* entries = list.as_array())
        for (const toml::node& entry : *entries)
            if (const std::int64_t qos = entry.value_or(std::int64_t{-1}); qos >= 0 && qos <= 2)
                bits |= 1u << qos;
    return bits;
}

const mqcore_driver* read_driver(const char* folder);
std::int32_t create(const mqcore_host* host, void** self);

// ---- before the interpreter ----

struct Interpreter {
    std::string libpython;       // path
    std::string version;         // "3.12.1"
    std::string library_version; // of the client library
};

// The environment tool wrote them into the venv's own configuration file when it made the venv.
std::optional<Interpreter> interpreter_of(const fs::path& venv) {
    Interpreter found;
    std::ifstream file(venv / "pyvenv.cfg");
    for (std::string line; std::getline(file, line);) {
        const std::size_t equals = line.find(" = ");
        if (equals == std::string::npos)
            continue;
        const std::string_view key = std::string_view(line).substr(0, equals);
        if (key == "mqcore-libpython")
            found.libpython = line.substr(equals + 3);
        else if (key == "mqcore-version")
            found.version = line.substr(equals + 3);
        else if (key == "mqcore-library-version")
            found.library_version = line.substr(equals + 3);
    }
    if (found.libpython.empty() || found.version.empty())
        return std::nullopt;
    return found;
}

// Nothing of the caller's Python set-up may reach a measured interpreter. The interpreter finds its
// venv the way a shell does: the first python3 on PATH.
void set_environment(const fs::path& venv) {
    std::vector<std::string> foreign;
    for (char** entry = environ; *entry; ++entry)
        if (const std::string_view text = *entry; text.starts_with("PYTHON"))
            foreign.emplace_back(text.substr(0, text.find('=')));
    for (const std::string& name : foreign)
        ::unsetenv(name.c_str());
    const char* path = std::getenv("PATH");
    ::setenv("PATH", ((venv / "bin").string() + ":" + (path ? path : "/usr/bin:/bin")).c_str(), 1);
    ::unsetenv("LC_ALL");
    ::setenv("LC_CTYPE", "C.UTF-8", 1); // an embedded Python does not read PYTHONUTF8
    ::setenv("PYTHONNOUSERSITE", "1", 1);
    ::setenv("PYTHONDONTWRITEBYTECODE", "1",
             1); // the first run of a folder costs what the second does
}

fs::path own_folder() {
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<void*>(&read_driver), &info) || !info.dli_fname)
        return {};
    return fs::path(info.dli_fname).parent_path();
}

// Returns the extension's table, or says in one line why there is none.
const Bridge* open_bridge(const fs::path& venv, const Interpreter& wanted, std::string& reason) {
    if (::dlsym(RTLD_DEFAULT, "Py_IsInitialized")) {
        // A second libpython would bind to the symbols of the first and report its version.
        reason = "this process already contains a Python interpreter";
        return nullptr;
    }
    set_environment(venv);
    // Global, because extension modules do not link libpython: they expect its symbols to be there.
    void* libpython = ::dlopen(wanted.libpython.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!libpython) {
        reason = std::string("cannot open the environment's libpython: ") + ::dlerror();
        return nullptr;
    }
    const auto get_version =
        reinterpret_cast<const char* (*)()>(::dlsym(libpython, "Py_GetVersion"));
    const std::string running = get_version ? get_version() : "";
    if (running.substr(0, running.find(' ')) != wanted.version) {
        reason = "libpython is " + running.substr(0, running.find(' ')) +
                 ", the environment was made for " + wanted.version + ": run 'mqcore envs sync'";
        return nullptr;
    }
    if (running.find("free-threading") != std::string::npos) {
        reason = "a free-threaded Python cannot host mqcore's extension: it has no stable ABI";
        return nullptr;
    }
    void* extension = ::dlopen((own_folder() / "_mqcore.abi3.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!extension) {
        reason = std::string("cannot open mqcore's extension: ") + ::dlerror();
        return nullptr;
    }
    const auto bridge = reinterpret_cast<const Bridge* (*)()>(::dlsym(extension, kBridgeSymbol));
    if (!bridge)
        reason = "mqcore's extension is damaged: it lacks mqcore_python_bridge()";
    return bridge ? bridge() : nullptr;
}

// ---- the driver's functions ----

std::int32_t create(const mqcore_host* host, void** self) {
    *self = nullptr;
    if (!host->environment) {
        host->fail(host, MQCORE_CONFIG,
                   "a Python client needs its environment: run 'mqcore envs sync'");
        return MQCORE_CONFIG;
    }
    const std::optional<Interpreter> interpreter = interpreter_of(host->environment);
    std::string reason;
    if (!interpreter)
        reason = std::string("'") + host->environment +
                 "' was not made by mqcore: run 'mqcore envs sync'";
    else if (!the_driver->bridge)
        the_driver->bridge = open_bridge(host->environment, *interpreter, reason);
    if (!reason.empty()) {
        host->fail(host, MQCORE_CONFIG, reason.c_str());
        return MQCORE_CONFIG;
    }
    host->note(host, "library.version", interpreter->library_version.c_str());
    host->note(host, "python.version", interpreter->version.c_str());
    static const std::string host_folder = own_folder().string();
    const Environment environment{.venv = host->environment,
                                  .host_folder = host_folder.c_str(),
                                  .driver_folder = the_driver->folder.c_str(),
                                  .shape = the_driver->shape.c_str()};
    return the_driver->bridge->create(host, &environment, self);
}

std::int32_t connect(void* self, const mqcore_run* run) {
    return the_driver->bridge->connect(self, run);
}

std::int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    return the_driver->bridge->drive(self, source, sink);
}

std::int32_t disconnect(void* self) { return the_driver->bridge->disconnect(self); }

void destroy(void* self) { the_driver->bridge->destroy(self); }

const mqcore_driver* read_driver(const char* folder) {
    const fs::path file = fs::path(folder) / "driver.toml";
    toml::parse_result parsed = toml::parse_file(file.string());
    if (!parsed) {
        std::fprintf(stderr, "python-host: %s:%u: %s\n", file.c_str(),
                     static_cast<unsigned>(parsed.error().source().begin.line),
                     std::string(parsed.error().description()).c_str());
        return nullptr;
    }
    toml::table& document = parsed.table();
    const auto driver = document["driver"];
    const auto claims = document["claims"];
    auto made = new Driver;
    made->folder = folder;
    made->id = driver["id"].value_or("");
    made->library = driver["library"].value_or("");
    made->shape = driver["shape"].value_or("");
    made->info = {.size = sizeof(mqcore_info),
                  .shape = value_of(kShapes, made->shape),
                  .id = made->id.c_str(),
                  .library = made->library.c_str(),
                  .protocols = bits_of(kProtocols, claims["protocols"]),
                  .publish_qos = qos_bits(claims["publish_qos"]),
                  .subscribe_qos = qos_bits(claims["subscribe_qos"]),
                  .features = bits_of(kFeatures, claims["features"]),
                  .max_window = claims["max_window"].value_or(0u),
                  .qos0_completion = value_of(
                      kCompletions, claims["qos0_completion"].value_or(std::string_view{}))};
    made->table = {.magic = MQCORE_MAGIC,
                   .size = sizeof(mqcore_driver),
                   .abi_major = MQCORE_ABI_MAJOR,
                   .abi_minor = MQCORE_ABI_MINOR,
                   .needs_host_minor = 0,
                   .reserved = 0,
                   .info = &made->info,
                   .create = create,
                   .connect = connect,
                   .drive = drive,
                   .disconnect = disconnect,
                   .destroy = destroy,
                   .extension = nullptr};
    if (made->id.empty() || made->info.shape == 0) {
        std::fprintf(stderr, "python-host: '%s' needs 'id' and 'shape' in [driver]\n",
                     file.c_str());
        delete made;
        return nullptr;
    }
    the_driver = made;
    return &made->table;
}

} // namespace
} // namespace mqcore::python

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    using mqcore::python::the_driver;
    if (!driver_folder) {
        std::fprintf(stderr, "python-host: no driver folder was named\n");
        return nullptr;
    }
    if (!the_driver)
        return mqcore::python::read_driver(driver_folder);
    if (the_driver->folder == driver_folder)
        return &the_driver->table;
    std::fprintf(stderr, "python-host: this process already hosts '%s'\n",
                 the_driver->folder.c_str());
    return nullptr;
}
