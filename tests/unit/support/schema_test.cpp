#include "support/catch.hpp"
#include "support/schema.hpp"
#include "support/schema_text.hpp"

using namespace mqcore::support;

namespace {

Schema example() {
    return {.title = "example",
            .help = "An example.",
            .all_keys = "example --keys",
            .tables = {{.name = "animal",
                        .form = TableForm::list,
                        .presence = Presence::required,
                        .label_key = "name",
                        .case_key = "kind",
                        .help = "One animal.",
                        .keys = {{.name = "name",
                                  .max = 8,
                                  .letters = "a-z_",
                                  .presence = Presence::required,
                                  .example = "\"rex\"",
                                  .help = "its name"},
                                 {.name = "kind",
                                  .type = KeyType::word,
                                  .words = {"dog", "fish"},
                                  .presence = Presence::required,
                                  .example = "\"dog\"",
                                  .help = "what it is"},
                                 {.name = "legs",
                                  .type = KeyType::integer,
                                  .min = 0,
                                  .max = 4,
                                  .cases = {"dog"},
                                  .fallback = "4",
                                  .example = "4",
                                  .help = "how many legs",
                                  .mistaken_for = {"feet"}},
                                 {.name = "tricks",
                                  .type = KeyType::words,
                                  .words = {"sit", "roll"},
                                  .cases = {"dog"},
                                  .example = "[\"sit\"]",
                                  .help = "what it can do"},
                                 {.name = "ages",
                                  .type = KeyType::integers,
                                  .min = 0,
                                  .max = 99,
                                  .example = "[1]",
                                  .help = "years"}},
                        .exclusions = {{.one = "tricks", .other = "ages", .hint = "choose"}}}}};
}

struct Checked {
    CheckedTable table;
    std::vector<Diagnostic> found;
};

Checked check(std::string content) {
    static const Schema schema = example();
    const SourceFile source{"f", std::move(content)};
    DiagnosticList diagnostics(source);
    const auto root = parse_toml(source, diagnostics);
    REQUIRE(root);
    check_top_level(*root, schema, diagnostics);
    CheckedTable table;
    if (const TomlMember* animals = root->find("animal");
        animals && !animals->value.items.empty()) {
        const SchemaTable& rows = schema.table("animal");
        const TomlValue& first = animals->value.items[0];
        table = check_table(first, rows, label_of(first, rows, 0), schema.all_keys, diagnostics);
    }
    return {std::move(table), diagnostics.in_file_order()};
}

std::string one_message(std::string content) {
    const Checked checked = check(std::move(content));
    REQUIRE(checked.found.size() == 1);
    return checked.found[0].message + " | " + checked.found[0].hint;
}

const std::string kDog = "[[animal]]\nname = \"rex\"\nkind = \"dog\"\n";
const std::string kFish = "[[animal]]\nname = \"nemo\"\nkind = \"fish\"\n";

} // namespace

TEST_CASE("a table in order gives its values and no finding") {
    const auto checked = check(kDog + "legs = 3\ntricks = [\"sit\", \"roll\"]\n");
    CHECK(checked.found.empty());
    CHECK(checked.table.find("name")->text == "rex");
    CHECK(checked.table.find("legs")->integer == 3);
    CHECK(checked.table.find("legs")->key_range == SourceRange{4, 1, 4});
    CHECK(checked.table.find("legs")->where == SourceRange{4, 8, 1});
    CHECK(checked.table.find("tricks")->words == std::vector<std::string>{"sit", "roll"});
    CHECK(checked.table.find("ages") == nullptr);
}

TEST_CASE("a refused value is written and not there") {
    const auto checked = check(kDog + "legs = 5\n");
    CHECK(checked.found.size() == 1);
    CHECK(checked.table.find("legs") == nullptr);
    CHECK(checked.table.written.contains("legs"));
}

TEST_CASE("findings about keys say what would be right") {
    CHECK(one_message(kDog + "lesg = 4\n") ==
          "unknown key 'lesg' in animal 'rex' | did you mean 'legs'?  (all keys: example --keys)");
    CHECK(one_message(kDog + "feet = 4\n") ==
          "unknown key 'feet' in animal 'rex' | did you mean 'legs'?  (all keys: example --keys)");
    CHECK(one_message(kFish + "lesg = 4\n") ==
          "unknown key 'lesg' in animal 'nemo' | all keys: example --keys");
    CHECK(one_message(kFish + "legs = 4\n") ==
          "'legs' has no meaning in animal 'nemo' of kind 'fish' | remove it; it is for: dog");
    CHECK(one_message("[[animal]]\nkind = \"dog\"\n") ==
          "animal 1 has no 'name' | write it like: name = \"rex\"  (its name)");
    CHECK(one_message(kDog + "tricks = []\nages = []\n") ==
          "'ages' and 'tricks' of line 4 exclude each other in animal 'rex' | choose");
}

TEST_CASE("findings about values say what would be right") {
    CHECK(one_message(kDog + "legs = 5\n") ==
          "'legs' is 5, but the range is 0 to 4, in animal 'rex' | write it like: legs = 4");
    CHECK(one_message(kDog + "legs = \"four\"\n") ==
          "'legs' takes a whole number, not text, in animal 'rex' | write it like: legs = 4");
    CHECK(one_message(kDog + "tricks = [\"sti\"]\n") ==
          "'tricks' does not know \"sti\" in animal 'rex' | did you mean \"sit\"?  (one of: sit, "
          "roll)");
    CHECK(one_message(kDog + "tricks = \"sit\"\n") ==
          "'tricks' takes a list of words, not text, in animal 'rex' | write it like: tricks = "
          "[\"sit\"]");
    CHECK(one_message(kDog + "ages = [1, 100]\n") ==
          "'ages' is 100, but the range is 0 to 99, in animal 'rex' | write it like: ages = [1]");
}

TEST_CASE("findings about tables say what would be right") {
    CHECK(one_message("[[animals]]\nname = \"rex\"\n") ==
          "unknown table 'animals' | did you mean [[animal]]?  (all keys: example --keys)");
    CHECK(one_message("[animal]\nname = \"rex\"\n") ==
          "'animal' is written [[animal]] | all tables and keys: example --keys");
    CHECK(one_message("animal = []\n") ==
          "'animal' is written [[animal]] | all tables and keys: example --keys");
    CHECK(one_message("") ==
          "this file has no [[animal]] | add it  (all tables and keys: example --keys)");
    CHECK(one_message("legs = 4\n" + kDog) ==
          "key 'legs' stands outside of every table | it belongs in [[animal]]");
}

TEST_CASE("the same rows become a JSON Schema") {
    const Json schema = json_schema_of(example());
    const Json& item = schema.at("properties").at("animal").at("items");
    CHECK(print_json(item.at("required")) == R"(["name","kind"])");
    CHECK(print_json(item.at("properties").at("name").at("pattern")) == R"("^[a-z_]+$")");
    CHECK(
        print_json(item.at("properties").at("legs")) ==
        R"({"type":"integer","minimum":0,"maximum":4,"description":"how many legs","default":4,"examples":[4]})");
    CHECK(print_json(item.at("allOf")) ==
          R"([{"if":{"properties":{"kind":{"const":"fish"}},"required":["kind"]},)"
          R"("then":{"properties":{"legs":false,"tricks":false}}},)"
          R"({"not":{"required":["tricks","ages"]}}])");
}

TEST_CASE("the same rows become a page and a list for the terminal") {
    const std::string page = markdown_of(example());
    CHECK(page.find("| `legs` | whole number, 0 to 4 | `4` | dog | how many legs |\n") !=
          std::string::npos);
    const std::string list = terminal_text_of(example());
    CHECK(list.find("  legs          how many legs\n"
                    "                whole number, 0 to 4; default 4; for dog\n") !=
          std::string::npos);
}
