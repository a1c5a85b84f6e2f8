#include "sim/trace/azure_csv.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace pinfold::sim {
namespace {

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

/// "arrival/prompt/output" of each request.
std::vector<std::string> requests_of(const std::string& text) {
  const Outcome<Trace> trace = parse_azure_csv(text, "t.csv");
  if (!trace) return {describe(trace.error())};
  std::vector<std::string> requests;
  for (const TraceRequest& request : trace.value().requests) {
    requests.push_back(std::to_string(request.arrival_ns) + "/" + std::to_string(request.prompt) +
                       "/" + std::to_string(request.output));
  }
  return requests;
}

/// The whole message of a text that is refused.
std::string refusal(const std::string& text) {
  const Outcome<Trace> trace = parse_azure_csv(text, "t.csv");
  return trace ? "none" : describe(trace.error());
}

std::string row_refusal(const std::string& row) {
  return refusal(kHeader + "2023-11-16 18:15:46.6805900,374,44\n" + row);
}

TEST_CASE("azure csv: the first rows of the published file, CRLF and no final newline") {
  const std::string text =
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:50.9951690,396,109\r\n"
      "2023-11-16 18:15:51.2224670,879,55";
  CHECK(requests_of(text) ==
        std::vector<std::string>{"0/374/44", "4314579000/396/109", "4541877000/879/55"});
  CHECK(parse_azure_csv(text, "t.csv").value().name == "t.csv");
}

TEST_CASE("azure csv: columns by name, in any order, among others") {
  CHECK(requests_of("TIMESTAMP,NumImages,GeneratedTokens,ContextTokens\n"
                    "2024-10-15T12:00:00.269Z,2,7,300\n"
                    "2024-10-15T12:00:00.270Z,,0,1\n") ==
        std::vector<std::string>{"0/300/7", "1000000/1/0"});
}

TEST_CASE("azure csv: the 2024 week drops a fraction that is zero and has an offset") {
  CHECK(requests_of(kHeader + "2024-05-12 00:00:00+00:00,5,6\n"
                              "2024-05-12 00:00:00.001163+00:00,7,8\n") ==
        std::vector<std::string>{"0/5/6", "1163000/7/8"});
}

TEST_CASE("azure csv: a byte order mark is skipped, equal times keep the file's order") {
  CHECK(requests_of("\xEF\xBB\xBF" + kHeader +
                    "2023-11-16 18:15:46,1,0\n2023-11-16 18:15:46,2,4294967293\n") ==
        std::vector<std::string>{"0/1/0", "0/2/4294967293"});
}

TEST_CASE("azure csv: a file that holds no rows") {
  CHECK(refusal("") ==
        "t.csv: found an empty file, expected a CSV header with TIMESTAMP, ContextTokens and "
        "GeneratedTokens");
  CHECK(refusal(kHeader) ==
        "t.csv:2: found the end of the file behind the header, expected at least one row");
  CHECK(refusal("TIMESTAMP,ContextTokens,GeneratedTokens") ==
        "t.csv:2: found the end of the file behind the header, expected at least one row");
}

TEST_CASE("azure csv: a header without a column, with one twice, with quotes") {
  CHECK(refusal("TIMESTAMP,ContextTokens\n") ==
        "t.csv:1: found the header \"TIMESTAMP,ContextTokens\", expected a column GeneratedTokens");
  CHECK(refusal("timestamp,ContextTokens,GeneratedTokens\n") ==
        "t.csv:1: found the header \"timestamp,ContextTokens,GeneratedTokens\", expected a column "
        "TIMESTAMP (is column \"timestamp\" meant?)");
  CHECK(refusal("TIMESTAMP,ContextTokens,GeneratedTokens,ContextTokens\n") ==
        "t.csv:1:41: found a second column ContextTokens, expected only one");
  CHECK(refusal("TIMESTAMP,\"ContextTokens\",GeneratedTokens\n") ==
        "t.csv:1:11: found the quoted column name \"\"ContextTokens\"\", expected column names "
        "without quotes");
  CHECK(refusal("2023-11-16 18:15:46,374,44\n") ==
        "t.csv:1: found the header \"2023-11-16 18:15:46,374,44\", expected a column TIMESTAMP");
}

TEST_CASE("azure csv: files that are something else") {
  const std::string expected =
      ", expected a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens";
  CHECK(refusal(std::string("\x7F"
                            "ELF\x02\x01\0\0",
                            8)) == "t.csv:1: found binary data" + expected);
  CHECK(refusal("\x89PNG\r\n") == "t.csv:1: found binary data" + expected);
  CHECK(refusal("\x1F\x8B\x08") ==
        "t.csv:1: found compressed data" + expected + " (unpack the file first)");
  CHECK(refusal("version https://git-lfs.github.com/spec/v1\n") ==
        "t.csv:1: found a Git LFS pointer in place of the data" + expected +
            " (fetch the file with `git lfs pull`)");
  CHECK(refusal("{\"timestamp\": 0}\n") == "t.csv:1: found JSON" + expected);
}

TEST_CASE("azure csv: a line that is cut off or has a field too many") {
  CHECK(row_refusal("2023-11-16 18:15:50,396") ==
        "t.csv:3:24: found 2 fields in \"2023-11-16 18:15:50,396\", expected 3 as in the header "
        "(is the line cut off?)");
  CHECK(row_refusal("2023-11-16 18:15:50,396,") ==
        "t.csv:3:25: found an empty field, expected GeneratedTokens from 0 to 4294967295");
  CHECK(row_refusal("2023-11-1") ==
        "t.csv:3:10: found 1 field in \"2023-11-1\", expected 3 as in the header (is the line cut "
        "off?)");
  CHECK(row_refusal("2023-11-16 18:15:50,396,1,2\n") ==
        "t.csv:3:28: found 4 fields in \"2023-11-16 18:15:50,396,1,2\", expected 3 as in the "
        "header");
}

TEST_CASE("azure csv: blank lines") {
  CHECK(row_refusal("\n") ==
        "t.csv:3: found a blank line at the end of the file, expected nothing behind the last "
        "row's line end (delete it)");
  CHECK(row_refusal("\r\n\r\n") ==
        "t.csv:3: found a blank line at the end of the file, expected nothing behind the last "
        "row's line end (delete it)");
  CHECK(row_refusal("\n2023-11-16 18:15:50,396,1\n") ==
        "t.csv:3: found a blank line, expected 3 fields (delete it)");
}

TEST_CASE("azure csv: counts that are none") {
  const std::string time = "2023-11-16 18:15:50,";
  const std::string prompt = "expected ContextTokens from 1 to 4294967295";
  const std::string output = "expected GeneratedTokens from 0 to 4294967295";
  CHECK(row_refusal(time + "-5,1") == "t.csv:3:21: found the negative count \"-5\", " + prompt);
  CHECK(row_refusal(time + "5,-1") == "t.csv:3:23: found the negative count \"-1\", " + output);
  CHECK(row_refusal(time + "0,1") == "t.csv:3:21: found 0 tokens, " + prompt);
  CHECK(row_refusal(time + "4294967296,1") ==
        "t.csv:3:21: found the too large count \"4294967296\", " + prompt);
  CHECK(row_refusal(time + "3.5,1") ==
        "t.csv:3:21: found \"3.5\", " + prompt + " (a count has no fraction)");
  CHECK(row_refusal(time + "many,1") == "t.csv:3:21: found \"many\", " + prompt);
  CHECK(row_refusal(time + "+5,1") == "t.csv:3:21: found \"+5\", " + prompt);
  CHECK(row_refusal(time + "0x10,1") == "t.csv:3:21: found \"0x10\", " + prompt);
  CHECK(row_refusal(time + " 5,1") ==
        "t.csv:3:21: found \" 5\", " + prompt + " (remove the spaces around ContextTokens)");
  CHECK(row_refusal(time + "5,1 ") ==
        "t.csv:3:23: found \"1 \", " + output + " (remove the spaces around GeneratedTokens)");
  CHECK(row_refusal(time + "\"5\",1") ==
        "t.csv:3:21: found the quoted field \"\"5\"\", expected fields without quotes");
  CHECK(row_refusal(time + "5\r,1") == "t.csv:3:21: found \"5\\r\", " + prompt);
  CHECK(row_refusal(time + "4294967295,1") ==
        "t.csv:3: found 4294967295 prompt and 1 generated tokens, expected at most 4294967295 "
        "tokens a request");
}

TEST_CASE("azure csv: a bad date is placed at its offending byte") {
  CHECK(row_refusal("2023-02-30 18:15:50,396,1") ==
        "t.csv:3:9: found \"2023-02-30 18:15:50\", expected a day that this month has");
  CHECK(row_refusal(" 2023-11-16 18:15:50,396,1") ==
        "t.csv:3:1: found \" 2023-11-16 18:15:50\", expected a time as YYYY-MM-DD "
        "HH:MM:SS[.fraction][Z or +HH:MM] (remove the spaces around TIMESTAMP)");
}

TEST_CASE("azure csv: a row that goes back in time names both lines") {
  CHECK(row_refusal("2023-11-16 18:15:46.6805899,1,1") ==
        "t.csv:3:1: found \"2023-11-16 18:15:46.6805899\", earlier than line 2, expected rows in "
        "order of TIMESTAMP (sort the rows, or have --on-unordered sort do it)");
}

TEST_CASE("azure csv: times with and without an offset do not mix") {
  CHECK(row_refusal("2023-11-16 18:15:50Z,1,1") ==
        "t.csv:3:1: found \"2023-11-16 18:15:50Z\" with an offset, expected times without one as "
        "in line 2");
}

}  // namespace
}  // namespace pinfold::sim
