#include "support/catch.hpp"
#include "support/channel.hpp"

#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace mqcore::support;

namespace {

struct Pair {
    Pair() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        other = UniqueFd(ends[0]);
        channel = std::make_unique<LineChannel>(UniqueFd(ends[1]));
    }
    void say(std::string_view text) const {
        REQUIRE(::write(other.get(), text.data(), text.size()) ==
                static_cast<ssize_t>(text.size()));
    }

    UniqueFd other;
    std::unique_ptr<LineChannel> channel;
};

} // namespace

TEST_CASE("documents arrive one a line, however the bytes come") {
    const Pair pair;
    pair.say("{\"n\":1}\n{\"n\"");
    CHECK(integer_or(*pair.channel->receive(), "n", 0) == 1);
    pair.say(":2}\n{\"n\":3}\n");
    CHECK(integer_or(*pair.channel->receive(), "n", 0) == 2);
    CHECK(integer_or(*pair.channel->receive(), "n", 0) == 3);
}

TEST_CASE("the end of the other side is an interruption") {
    Pair pair;
    pair.say("{\"n\":1}\n");
    pair.other.reset();
    CHECK(pair.channel->receive());
    const auto ended = pair.channel->receive();
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == ErrorCode::interrupted);
    CHECK_FALSE(pair.channel->send(JsonObject{}));
}

TEST_CASE("a line that is no document is an error, and the next one is read") {
    const Pair pair;
    pair.say("not json\n{\"n\":2}\n");
    CHECK_FALSE(pair.channel->receive());
    CHECK(integer_or(*pair.channel->receive(), "n", 0) == 2);
}

TEST_CASE("lines of several threads never interleave") {
    Pair pair;
    constexpr int kThreads = 4;
    constexpr int kLines = 200;
    const std::string text(5000, 'x');
    LineChannel reader(std::move(pair.other));
    std::vector<std::jthread> senders;
    for (int i = 0; i < kThreads; ++i)
        senders.emplace_back([&] {
            for (int n = 0; n < kLines; ++n)
                if (!pair.channel->send(JsonObject{{"text", text}}))
                    return;
        });
    int whole = 0;
    for (int n = 0; n < kThreads * kLines; ++n) {
        const auto document = reader.receive();
        whole += document && text_or(*document, "text", "") == text ? 1 : 0;
    }
    CHECK(whole == kThreads * kLines);
}
