#include "driver/descriptor_file.hpp"

#include "driver/claim_names.hpp"
#include "support/file.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace mqcore::driver {
namespace {

using support::CheckedTable;
using support::CheckedValue;
using support::Diagnostic;
using support::DiagnosticList;
using support::KeyType;
using support::Presence;
using support::TableForm;
using support::TomlMember;
using support::TomlValue;

constexpr std::string_view kIdLetters = "a-z0-9-";

// A file read and parsed, or the finding that it is not.
struct Parsed {
    support::SourceFile source;
    std::optional<TomlValue> root;
    std::vector<Diagnostic> diagnostics;
};

Parsed parse_file(const std::filesystem::path& file);
std::string readable_id(const Parsed& parsed, std::string_view table,
                        const std::filesystem::path& folder);
Descriptor descriptor_from(const CheckedTable& driver, const CheckedTable& claims,
                           const std::filesystem::path& folder, DiagnosticList& diagnostics);
std::vector<Variant> read_variants(const TomlValue& root, DiagnosticList& diagnostics);
bool is_of_newer_minor(const TomlValue& root);
void leave_out_what_is_newer(TomlValue& root, DiagnosticList& diagnostics);

CheckedTable check(const Parsed& parsed, const support::Schema& schema, std::string_view name,
                   DiagnosticList& diagnostics) {
    const TomlMember* member = parsed.root->find(name);
    if (!member || member->value.type != TomlValue::Type::table)
        return {};
    return support::check_table(member->value, schema.table(name), fmt::format("[{}]", name),
                                schema.all_keys, diagnostics);
}

} // namespace

ReadDescriptor read_descriptor(const std::filesystem::path& folder) {
    Parsed parsed = parse_file(folder / "driver.toml");
    ReadDescriptor read{
        .descriptor = {}, .id = readable_id(parsed, "driver", folder), .diagnostics = {}};
    if (!parsed.root) {
        read.diagnostics = std::move(parsed.diagnostics);
        return read;
    }
    DiagnosticList diagnostics(parsed.source);
    if (is_of_newer_minor(*parsed.root))
        leave_out_what_is_newer(*parsed.root, diagnostics);
    support::check_top_level(*parsed.root, descriptor_schema(), diagnostics);
    const CheckedTable driver = check(parsed, descriptor_schema(), "driver", diagnostics);
    const CheckedTable claims = check(parsed, descriptor_schema(), "claims", diagnostics);
    Descriptor descriptor = descriptor_from(driver, claims, folder, diagnostics);
    descriptor.variants = read_variants(*parsed.root, diagnostics);
    read.diagnostics = diagnostics.in_file_order();
    if (!support::has_error(read.diagnostics))
        read.descriptor = std::move(descriptor);
    return read;
}

ReadHost read_host(const std::filesystem::path& folder) {
    Parsed parsed = parse_file(folder / "host.toml");
    ReadHost read{.host = {}, .id = readable_id(parsed, "host", folder), .diagnostics = {}};
    if (!parsed.root) {
        read.diagnostics = std::move(parsed.diagnostics);
        return read;
    }
    DiagnosticList diagnostics(parsed.source);
    support::check_top_level(*parsed.root, host_schema(), diagnostics);
    const CheckedTable table = check(parsed, host_schema(), "host", diagnostics);
    read.diagnostics = diagnostics.in_file_order();
    if (support::has_error(read.diagnostics))
        return read;
    Host host{.id = table.text("id"),
              .folder = folder,
              .library_file = folder / table.text("file"),
              .environment = {}};
    if (const CheckedValue* command = table.find("environment"))
        for (const std::string& word : command->words) {
            // A file of the folder is meant; anything else is a program or an option.
            std::error_code unreadable;
            const bool is_file =
                !word.empty() && std::filesystem::is_regular_file(folder / word, unreadable);
            host.environment.push_back(is_file ? (folder / word).string() : word);
        }
    read.host = std::move(host);
    return read;
}

namespace {

Parsed parse_file(const std::filesystem::path& file) {
    Parsed parsed;
    parsed.source.name = file.string();
    support::Result<std::string> content = support::read_file(file);
    if (!content) {
        parsed.diagnostics.push_back({.file = file.string(),
                                      .message = content.error().message,
                                      .hint = content.error().hint,
                                      .source_line = {}});
        return parsed;
    }
    parsed.source.content = *std::move(content);
    if (parsed.source.content.starts_with("\xEF\xBB\xBF"))
        parsed.source.content.erase(0, 3);
    DiagnosticList diagnostics(parsed.source);
    parsed.root = support::parse_toml(parsed.source, diagnostics);
    parsed.diagnostics = diagnostics.in_file_order();
    return parsed;
}

// So that a broken file still stands for its driver and nothing further down the path replaces it.
std::string readable_id(const Parsed& parsed, std::string_view table,
                        const std::filesystem::path& folder) {
    const TomlMember* member = parsed.root ? parsed.root->find(table) : nullptr;
    const TomlMember* id = member ? member->value.find("id") : nullptr;
    if (id && id->value.type == TomlValue::Type::text && !id->value.text.empty())
        return id->value.text;
    return folder.filename().string();
}

struct AbiVersion {
    unsigned major = 0, minor = 0;
};

std::optional<AbiVersion> abi_of(std::string_view text) {
    AbiVersion version;
    const char* const end = text.data() + text.size();
    const auto [dot, bad_major] = std::from_chars(text.data(), end, version.major);
    if (bad_major != std::errc() || dot == end || *dot != '.')
        return std::nullopt;
    const auto [stop, bad_minor] = std::from_chars(dot + 1, end, version.minor);
    return bad_minor == std::errc() && stop == end ? std::optional(version) : std::nullopt;
}

void check_abi(const CheckedTable& driver, DiagnosticList& diagnostics) {
    const CheckedValue* abi = driver.find("abi");
    if (!abi)
        return;
    const auto version = abi_of(abi->text);
    if (!version)
        diagnostics.error(abi->where, fmt::format("'abi' is \"{}\"", abi->text),
                          fmt::format("write major and minor version: abi = \"{}.{}\"",
                                      MQCORE_ABI_MAJOR, MQCORE_ABI_MINOR));
    else if (version->major != MQCORE_ABI_MAJOR)
        diagnostics.error(
            abi->where,
            fmt::format("this driver was made for ABI {}, this mqcore has ABI {}.{}", abi->text,
                        MQCORE_ABI_MAJOR, MQCORE_ABI_MINOR),
            "build the driver for this mqcore, or use the mqcore that it was made for");
}

std::uint32_t value_of(std::span<const ClaimName> names, std::string_view wanted) {
    for (const ClaimName& name : names)
        if (name.name == wanted)
            return name.value;
    return 0;
}

std::uint32_t bits_of(const CheckedTable& claims, std::string_view key,
                      std::span<const ClaimName> names) {
    std::uint32_t bits = 0;
    for (const std::string& word : claims.words(key))
        bits |= value_of(names, word);
    return bits;
}

std::uint32_t qos_bits_of(const CheckedTable& claims, std::string_view key) {
    std::uint32_t bits = 0;
    if (const CheckedValue* value = claims.find(key))
        for (const std::int64_t qos : value->integers)
            bits |= 1u << qos;
    return bits;
}

Descriptor descriptor_from(const CheckedTable& driver, const CheckedTable& claims,
                           const std::filesystem::path& folder, DiagnosticList& diagnostics) {
    check_abi(driver, diagnostics);
    const bool has_file = driver.written.contains("file");
    const bool has_host = driver.written.contains("host");
    if (!has_file && !has_host && driver.where.line > 0)
        diagnostics.error(driver.where, "[driver] has neither 'file' nor 'host'",
                          "write file = \"ID.so\", or host = \"python\" for a driver of that host");
    Descriptor descriptor{.id = driver.text("id"),
                          .driver_id = driver.text("id"),
                          .library = driver.text("library"),
                          .summary = driver.text("summary"),
                          .abi = driver.text("abi"),
                          .library_version = driver.text("library_version"),
                          .package = driver.text("package"),
                          .folder = folder,
                          .library_file = {},
                          .host = driver.text("host"),
                          .host_folder = {},
                          .is_harness_floor = driver.find("floor") && driver.find("floor")->boolean,
                          .claims = {}};
    if (descriptor.host.empty())
        descriptor.library_file = folder / driver.text("file");
    const CheckedValue* max_window = claims.find("max_window");
    descriptor.claims = {
        .shape = value_of(kShapeNames, driver.text("shape")),
        .protocols = bits_of(claims, "protocols", kProtocolNames),
        .publish_qos = qos_bits_of(claims, "publish_qos"),
        .subscribe_qos = qos_bits_of(claims, "subscribe_qos"),
        .features = bits_of(claims, "features", kFeatureNames),
        .max_window = max_window ? static_cast<std::uint32_t>(max_window->integer) : 0,
        .qos0_completion = value_of(kQos0CompletionNames, claims.text("qos0_completion"))};
    if (const CheckedValue* publish = claims.find("publish_qos");
        publish && (descriptor.claims.publish_qos & MQCORE_QOS0) &&
        !claims.written.contains("qos0_completion"))
        diagnostics.error(publish->where,
                          "[claims] has QoS 0 in 'publish_qos' and no 'qos0_completion'",
                          "say what a QoS 0 completion stands for: qos0_completion = \"written\"");
    return descriptor;
}

// The keys are free, so the schema's rows cannot check them.
std::optional<Variant> read_variant(const TomlMember& table, DiagnosticList& diagnostics) {
    const std::string label = fmt::format("[variant.{}]", support::brief(table.key));
    const char* const form = "write summary = \"…\" and options = { KEY = \"value\" }";
    Variant variant{.name = table.key, .summary = {}, .options = {}};
    if (table.value.type != TomlValue::Type::table || !is_id(table.key)) {
        diagnostics.error(table.key_range,
                          fmt::format("'{}' is no variant's table", support::brief(table.key)),
                          "write [variant.NAME]; a name has letters a-z, digits and '-'");
        return std::nullopt;
    }
    const TomlMember* options = table.value.find("options");
    if (!options ||
        (options->value.type == TomlValue::Type::table && options->value.members.empty()))
        diagnostics.error(table.key_range, fmt::format("{} has no options", label), form);
    for (const TomlMember& member : table.value.members) {
        if (member.key == "summary" && member.value.type == TomlValue::Type::text) {
            variant.summary = member.value.text;
        } else if (member.key == "options" && member.value.type == TomlValue::Type::table) {
            for (const TomlMember& option : member.value.members)
                if (const auto text = support::option_text(option.value))
                    variant.options.emplace_back(option.key, *text);
                else
                    diagnostics.error(option.value.where,
                                      fmt::format("option '{}' of {} is {}",
                                                  support::brief(option.key), label,
                                                  support::name_of(option.value.type)),
                                      "an option is text, a number, or true or false");
        } else {
            diagnostics.error(member.key_range,
                              fmt::format("'{}' is {}, which has no meaning in {}",
                                          support::brief(member.key),
                                          support::name_of(member.value.type), label),
                              form);
        }
    }
    return variant;
}

std::vector<Variant> read_variants(const TomlValue& root, DiagnosticList& diagnostics) {
    std::vector<Variant> variants;
    const TomlMember* tables = root.find("variant");
    if (tables && tables->value.type == TomlValue::Type::table)
        for (const TomlMember& table : tables->value.members)
            if (auto variant = read_variant(table, diagnostics))
                variants.push_back(*std::move(variant));
    return variants;
}

bool knows_word(const support::SchemaKey& key, const TomlValue& word) {
    return word.type != TomlValue::Type::text ||
           std::ranges::find(key.words, word.text) != key.words.end();
}

// A newer minor version only adds, so what this one does not know can be left out of its file:
// keys, and words of a list.
void leave_out_what_is_newer(TomlValue& root, DiagnosticList& diagnostics) {
    for (TomlMember& member : root.members) {
        const auto& tables = descriptor_schema().tables;
        const auto table = std::ranges::find(tables, member.key, &support::SchemaTable::name);
        if (table == tables.end() || table->form == TableForm::options)
            continue;
        std::erase_if(member.value.members, [&](TomlMember& entry) {
            const auto key = std::ranges::find(table->keys, entry.key, &support::SchemaKey::name);
            if (key == table->keys.end()) {
                diagnostics.warning(
                    entry.key_range,
                    fmt::format("key '{}' is newer than this mqcore and left out", entry.key));
                return true;
            }
            if (key->type == KeyType::words)
                std::erase_if(entry.value.items, [&](const TomlValue& word) {
                    if (knows_word(*key, word))
                        return false;
                    diagnostics.warning(
                        word.where,
                        fmt::format("\"{}\" is newer than this mqcore and left out", word.text));
                    return true;
                });
            return false;
        });
    }
}

bool is_of_newer_minor(const TomlValue& root) {
    const TomlMember* driver = root.find("driver");
    const TomlMember* abi = driver ? driver->value.find("abi") : nullptr;
    const auto version = abi ? abi_of(abi->value.text) : std::nullopt;
    return version && version->major == MQCORE_ABI_MAJOR && version->minor > MQCORE_ABI_MINOR;
}

std::vector<std::string_view> words_of(std::span<const ClaimName> names) {
    std::vector<std::string_view> words;
    for (const ClaimName& name : names)
        words.push_back(name.name);
    return words;
}

support::Schema make_descriptor_schema() {
    return {
        .title = "mqcore driver",
        .help = "A driver adapts one MQTT client library; its driver.toml says what it can do.",
        .all_keys = "docs/architecture.md, Drivers",
        .tables = {
            {.name = "driver",
             .presence = Presence::required,
             .help = "What the driver is and which library is loaded for it.",
             .keys = {{.name = "id",
                       .letters = kIdLetters,
                       .presence = Presence::required,
                       .example = "\"paho-c\"",
                       .help = "name in commands and results"},
                      {.name = "library",
                       .presence = Presence::required,
                       .example = "\"Eclipse Paho C\"",
                       .help = "the client library's own name"},
                      {.name = "summary",
                       .example = "\"asynchronous C client\"",
                       .help = "one line for people",
                       .mistaken_for = {"description"}},
                      {.name = "abi",
                       .presence = Presence::required,
                       .example = "\"1.0\"",
                       .help = "version of mqcore/driver.h that the driver was built for"},
                      {.name = "shape",
                       .type = KeyType::word,
                       .words = words_of(kShapeNames),
                       .presence = Presence::required,
                       .example = "\"nowait\"",
                       .help = "how the library is driven"},
                      {.name = "file",
                       .example = "\"paho-c.so\"",
                       .help = "the shared library in this folder; excludes host"},
                      {.name = "host",
                       .example = "\"python\"",
                       .help = "id of the host whose library serves this driver; excludes file"},
                      {.name = "library_version",
                       .example = "\"1.3.12\"",
                       .help = "of the client library, where the driver's build knows it"},
                      {.name = "package",
                       .example = "\"paho-mqtt\"",
                       .help = "the client library's package in its language environment"},
                      {.name = "floor",
                       .type = KeyType::boolean,
                       .fallback = "false",
                       .example = "true",
                       .help = "a null client, which measures mqcore itself"}},
             .exclusions = {{.one = "file",
                             .other = "host",
                             .hint = "a driver has a library of its own (file) or is served by a "
                                     "host (host)"}}},
            {.name = "claims",
             .presence = Presence::required,
             .help = "What the driver can do, the same as in its mqcore_info.",
             .keys = {{.name = "protocols",
                       .type = KeyType::words,
                       .words = words_of(kProtocolNames),
                       .presence = Presence::required,
                       .example = "[\"3.1.1\", \"5\"]",
                       .help = "versions of MQTT"},
                      {.name = "publish_qos",
                       .type = KeyType::integers,
                       .min = 0,
                       .max = 2,
                       .presence = Presence::required,
                       .example = "[0, 1, 2]",
                       .help = "QoS levels it can publish with; [] when it cannot publish"},
                      {.name = "subscribe_qos",
                       .type = KeyType::integers,
                       .min = 0,
                       .max = 2,
                       .presence = Presence::required,
                       .example = "[0, 1, 2]",
                       .help = "QoS levels it can subscribe with; [] when it cannot subscribe"},
                      {.name = "features",
                       .type = KeyType::words,
                       .words = words_of(kFeatureNames),
                       .example = "[\"tls\"]",
                       .help = "optional abilities"},
                      {.name = "max_window",
                       .type = KeyType::integer,
                       .min = 0,
                       .max = 65535,
                       .fallback = "0",
                       .example = "20",
                       .help = "most messages in flight that the library allows; 0: no limit"},
                      {.name = "qos0_completion",
                       .type = KeyType::word,
                       .words = words_of(kQos0CompletionNames),
                       .example = "\"written\"",
                       .help = "what a QoS 0 completion stands for"}}},
            {.name = "variant",
             .form = TableForm::options,
             .help = "Options of the driver under a name: a client of their own."},
        }};
}

support::Schema make_host_schema() {
    return {.title = "mqcore host",
            .help = "A host serves drivers that bring no library of their own.",
            .all_keys = "docs/architecture.md, Drivers",
            .tables = {{.name = "host",
                        .presence = Presence::required,
                        .help = "What the host is and which library is loaded for its drivers.",
                        .keys = {{.name = "id",
                                  .letters = kIdLetters,
                                  .presence = Presence::required,
                                  .example = "\"python\"",
                                  .help = "name by which drivers ask for it"},
                                 {.name = "file",
                                  .presence = Presence::required,
                                  .example = "\"python-host.so\"",
                                  .help = "the shared library in this folder"},
                                 {.name = "environment",
                                  .type = KeyType::texts,
                                  .example = "[\"python3\", \"environment.py\"]",
                                  .help = "command of the environment tool; a file name is taken "
                                          "from this folder"}}}}};
}

} // namespace

const support::Schema& descriptor_schema() {
    static const support::Schema schema = make_descriptor_schema();
    return schema;
}

const support::Schema& host_schema() {
    static const support::Schema schema = make_host_schema();
    return schema;
}

} // namespace mqcore::driver
