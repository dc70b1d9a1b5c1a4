// SPDX-License-Identifier: MIT
//
// Numbers as JSON beside their peers: a million floats N(0,1), nanoseconds of this thread's CPU
// time a number. One JSON object a line; rounds alternate, and the first, cold one is not printed.
//
//   json-parse  a body {"tensors":{"q":{...,"data":[[...],...]}}} to a tensor of floats
//   json-scan   the numbers of one flat array, commas included
//   json-print  the tensor to its JSON answer
//
// from_chars and to_chars only see numbers: brackets and commas are skipped or written, not
// checked.
//
// build/bench/numbers [--rounds N]
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "bench/numbers.h"

namespace
{

struct Data {
    std::vector<float> floats;
    std::string flat, body; // [1,2] and the whole request
};

Data data_make()
{
    std::mt19937_64 random(20240229);
    std::normal_distribution<float> normal;
    Data data;
    char text[64];

    data.floats.resize(COUNT);
    data.flat = "[";
    data.body = R"({"tensors":{"q":{"dtype":"f32","shape":[15625,64],"data":[)";
    for (size_t i = 0; i < COUNT; i++) {
        data.floats[i] = normal(random);
        const size_t length = posencd_number(text, data.floats[i]);
        data.flat += i > 0 ? "," : "";
        data.flat.append(text, length);
        data.body += i % COLUMNS > 0 ? "," : i > 0 ? "],[" : "[";
        data.body.append(text, length);
    }
    data.flat += "]";
    data.body += "]]}}}";
    return data;
}

bool from_chars_scan(const std::string &text, size_t from, std::vector<float> &out)
{
    const char *at = text.data() + from, *end = text.data() + text.size();

    for (float &value : out) {
        while (*at == '[' || *at == ']' || *at == ',')
            at++;
        const auto result = std::from_chars(at, end, value);
        if (result.ec != std::errc())
            return false;
        at = result.ptr;
    }
    return true;
}

bool to_chars_print(const std::vector<float> &floats, std::vector<char> &out)
{
    char *to = out.data(), *end = to + out.size();

    for (size_t i = 0; i < COUNT; i++) {
        *to++ = i % COLUMNS == 0 ? '[' : ',';
        const auto result = std::to_chars(to, end, floats[i]);
        if (result.ec != std::errc())
            return false;
        to = result.ptr;
        if (i % COLUMNS == COLUMNS - 1)
            *to++ = ']';
    }
    return true;
}

void check(bool right, const char *row, const char *who)
{
    if (right)
        return;
    std::fprintf(stderr, "numbers: %s of %s went wrong\n", row, who);
    std::exit(1);
}

double now_ns()
{
    timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <typename Work> void row_run(const char *row, const char *who, long round, Work work)
{
    const double begin = now_ns();
    const bool right = work();
    const double each = (now_ns() - begin) / COUNT;

    check(right, row, who);
    if (round >= 0)
        std::printf("{\"row\":\"%s\",\"who\":\"%s\",\"round\":%ld,\"value\":%.2f,"
                    "\"unit\":\"ns/number\"}\n",
                    row, who, round, each);
}

void round_run(long round, const Data &data)
{
    static std::vector<float> floats(COUNT);
    static std::vector<char> text(32 * COUNT);
    const std::string &body = data.body, &flat = data.flat;
    const size_t from = body.find("\"data\":") + 7;

    row_run("json-parse", "posencd", round,
            [&] { return posencd_parse(body.data(), body.size(), nullptr); });
    row_run("json-parse", "from_chars", round, [&] { return from_chars_scan(body, from, floats); });
    row_run("json-parse", "jansson", round,
            [&] { return jansson_parse(body.data(), body.size(), floats.data()); });
    row_run("json-scan", "posencd", round,
            [&] { return posencd_scan(flat.data(), flat.size(), floats.data()); });
    check(floats == data.floats, "json-scan", "posencd");
    row_run("json-scan", "from_chars", round, [&] { return from_chars_scan(flat, 0, floats); });
    row_run("json-print", "posencd", round,
            [&] { return posencd_print(data.floats.data(), text.data(), text.size()); });
    row_run("json-print", "to_chars", round, [&] { return to_chars_print(data.floats, text); });
    row_run("json-print", "jansson", round,
            [&] { return jansson_print(data.floats.data(), text.data(), text.size()); });
    check(posencd_parse(body.data(), body.size(), floats.data()) && floats == data.floats,
          "json-parse", "posencd");
}

} // namespace

int main(int argc, char **argv)
{
    const bool has_rounds = argc == 3 && std::strcmp(argv[1], "--rounds") == 0;
    const long rounds = has_rounds ? std::strtol(argv[2], nullptr, 10) : 5;

    if ((argc > 1 && !has_rounds) || rounds < 1) {
        std::fprintf(stderr, "usage: numbers [--rounds N]\n");
        return 2;
    }
    const Data data = data_make();
    for (long round = -1; round < rounds; round++)
        round_run(round, data);
    return 0;
}
