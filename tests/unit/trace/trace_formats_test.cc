#include "sim/trace/trace_source.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_transforms.h"
#include "sim/trace/trace_writer.h"

namespace pinfold::sim {
namespace {

/// A text as a trace, or the message that refuses it.
struct Reading {
  std::string format;
  Trace trace;
  std::string refusal;
  TraceNotes notes;
};

Reading read(const std::string& text, const TraceOptions& options = {}) {
  Reading reading;
  Outcome<OpenedTrace> opened = open_rows_of(text, "t", options.reader);
  if (!opened) {
    reading.refusal = describe(opened.error());
    return reading;
  }
  reading.format = opened.value().format->name;
  const InputPolicies policies{
      .unordered = options.unordered.value_or(opened.value().format->order),
      .zero_output = options.zero_output,
      .on_error = options.on_error};
  TraceInput input("t", std::move(opened.value().rows), policies);
  Outcome<Trace> trace = read_all(input, "t");
  reading.notes = input.notes();
  if (trace) {
    reading.trace = std::move(trace.value());
  } else {
    reading.refusal = describe(trace.error());
  }
  return reading;
}

/// `arrival/prompt/output`, and what else a request says.
std::vector<std::string> lines(const Reading& reading) {
  CHECK(reading.refusal == "");
  std::vector<std::string> texts;
  for (const TraceRequest& request : reading.trace.requests) {
    std::string text = std::to_string(request.arrival_ns / 1'000'000) + "/" +
                       std::to_string(request.prompt) + "/" + std::to_string(request.output);
    if (request.session != kNoSession) {
      text += " delay " + std::to_string(request.delay_ns / 1'000'000);
    }
    if (!request.prefix_ids.empty()) {
      text += " ids";
      for (const std::uint64_t id : request.prefix_ids) text += " " + std::to_string(id);
    }
    texts.push_back(text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST_CASE("formats: Azure 2024 and the multimodal trace, columns in another order") {
  const Reading week = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00.001163+00:00,5,6\n"
      "2024-05-12 00:00:01+00:00,7,8\n");
  CHECK(week.format == "azure");
  CHECK(lines(week) == Texts{"0/5/6", "998/7/8"});
  const Reading images = read(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,0,5,6\n"
      "2024-10-15T12:00:00.270Z,2,7,8\n2024-10-15T12:01:00.271Z,2,7,8\n");
  CHECK(images.format == "azure");
  CHECK(lines(images) == Texts{"0/5/6", "1/7/8", "60002/7/8"});
}

TEST_CASE("formats: dates of one minute are read the quick way, and give what the long way gives") {
  // The same rows; an unused column in the second keeps it from the quick way.
  std::string quick = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  std::string slow = "TIMESTAMP,ContextTokens,GeneratedTokens,Other\n";
  for (const char* time :
       {"2023-11-16 18:15:46.6805900", "2023-11-16 18:15:46.68059", "2023-11-16 18:15:46.7",
        "2023-11-16 18:15:47", "2023-11-16 18:15:59.999999999", "2023-11-16 18:16:00",
        "2023-11-16 18:16:00.000000001", "2023-11-17 00:00:00"}) {
    quick += std::string(time) + ",5,6\r\n";
    slow += std::string(time) + ",5,6,x\r\n";
  }
  const Reading one = read(quick);
  CHECK(lines(one).size() == 8);
  CHECK(trace_digest(one.trace) == trace_digest(read(slow).trace));
  CHECK(one.trace.requests[4].arrival_ns == 13'319'409'999);
}

TEST_CASE(
    "formats: BurstGPT's two releases; a turn's delay starts where the turn before it ended") {
  const Reading first = read(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n7,GPT-4,10,0,10,API log\n");
  CHECK(first.format == "burstgpt");
  CHECK(lines(first) == Texts{"0/472/18", "2000/10/0"});
  CHECK(first.notes.zero_outputs.lines == std::vector<std::uint64_t>{3});
  const std::string second =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n"
      "100.0,a,43,GPT-4,906,446,1352,Conversation log\n101.0,,1,GPT-4,7,1,8,API log\n"
      "150.0,a,2,GPT-4,9,4,13,Conversation log\n151.0,a,2,GPT-4,9,4,13,Conversation log\n";
  CHECK(lines(read(second)) ==
        Texts{"0/906/446 delay 0", "1000/7/1", "50000/9/4 delay 7000", "51000/9/4 delay 0"});
}

TEST_CASE("formats: Mooncake's last block is partly filled; AIPerf's sessions and delays") {
  const Reading plain = read(
      R"({"timestamp": 10, "input_length": 1024, "output_length": 1, "hash_ids": [0, 1]})"
      "\n"
      R"({"timestamp": 12.5, "input_length": 1025, "output_length": 1, "hash_ids": [0, 1, 18446744073709551615]})");
  CHECK(plain.format == "mooncake");
  CHECK(plain.trace.id_block == 512);
  CHECK(lines(plain) == Texts{"0/1024/1 ids 0 1", "2/1025/1 ids 0 1 18446744073709551615"});
  CHECK(plain.trace.requests[1].arrival_ns == 2'500'000);
  CHECK(read(R"({"timestamp": 0, "input_length": 1025, "output_length": 1, "hash_ids": [0, 1]})")
            .refusal ==
        "t:1: found 2 prefix ids for 1025 prompt tokens, expected 3, one for each 512 tokens, the "
        "last one partly (--id-block says another block size)");
  const Reading turns =
      read(R"({"session_id": "x", "timestamp": 5, "input_length": 3, "output_length": 4})"
           "\n"
           R"({"session_id": "x", "delay": 20, "input_length": 5, "output_length": 6})"
           "\n\n"
           R"({"session_id": "x", "delay": 1, "input_length": 7, "output_length": 8})");
  CHECK(lines(turns) == Texts{"0/3/4 delay 0", "20/5/6 delay 20", "21/7/8 delay 1"});
  CHECK(turns.notes.blank_lines == 1);
}

TEST_CASE(
    "formats: Qwen-Bailian's turns hang together; a parent outside the trace starts a session") {
  const Reading reading = read(
      R"({"chat_id": 7, "parent_chat_id": -1, "timestamp": 0.25, "input_length": 17, "output_length": 2, "type": "text", "turn": 1, "hash_ids": [1, 2]})"
      "\n"
      R"({"chat_id": 8, "parent_chat_id": 99, "timestamp": 1, "input_length": 16, "output_length": 2, "type": "text", "turn": 3, "hash_ids": [5]})"
      "\n"
      R"({"chat_id": 9, "parent_chat_id": 7, "timestamp": 61.25, "input_length": 33, "output_length": 2, "type": "text", "turn": 2, "hash_ids": [1, 3, 4]})");
  CHECK(reading.format == "qwen");
  CHECK(reading.trace.id_block == 16);
  CHECK(lines(reading) == Texts{"0/17/2 delay 0 ids 1 2", "750/16/2 delay 0 ids 5",
                                "61000/33/2 delay 61000 ids 1 3 4"});
  CHECK(reading.trace.requests[2].session == reading.trace.requests[0].session);
  CHECK(reading.trace.requests[1].session != reading.trace.requests[0].session);
}

TEST_CASE("formats: Weka's full blocks, think times, and sub-agents counted from their marker") {
  const std::string request = R"("in":128,"out":3,"hash_ids":[1,2])";
  const Reading reading = read(R"({"id":"s","block_size":64,"hash_id_scope":"local","requests":[)"
                               R"({"t":0.0,"type":"n",)" +
                               request +
                               R"(,"api_time":2.0,"think_time":0.0},)"
                               R"({"t":9.5,"type":"n","in":191,"out":0,"hash_ids":[1,2]},)"
                               R"({"t":10.0,"type":"subagent","agent_id":"a","requests":[)"
                               R"({"t":0.0,)" +
                               request + R"(},{"t":4.0,)" + request +
                               R"(,"think_time":1.5}]},)"
                               R"({"t":12.0,"type":"s",)" +
                               request + R"(,"think_time":0.75}]})");
  CHECK(reading.format == "weka");
  CHECK(reading.trace.id_block == 64);
  // 9.5 - 0 - 2 seconds where no think time is given; 191 tokens have two full blocks of 64.
  CHECK(lines(reading) == Texts{"0/128/3 delay 0 ids 1 2", "9500/191/0 delay 7500 ids 1 2",
                                "10000/128/3 delay 0 ids 1 2", "12000/128/3 delay 750 ids 1 2",
                                "14000/128/3 delay 1500 ids 1 2"});
  CHECK(reading.notes.backward.count == 1);
  CHECK(reading.trace.requests[2].session == reading.trace.requests[4].session);
  CHECK(reading.trace.requests[2].session != reading.trace.requests[0].session);
  // Later releases count a sub-agent's times from the session's start.
  const Reading absolute = read(
      R"({"id":"s","block_size":64,"requests":[{"t":0.0,)" + request +
      R"(},{"t":10.0,"type":"subagent","agent_id":"a","requests":[{"t":11.0,)" + request + "}]}]}");
  CHECK(lines(absolute) == Texts{"0/128/3 delay 0 ids 1 2", "11000/128/3 delay 0 ids 1 2"});
  CHECK(
      read(R"({"id":"s","block_size":64,"requests":[{"t":0.0,"in":127,"out":3,"hash_ids":[1,2]}]})")
          .refusal ==
      "t:1:39: requests[0]: found 2 prefix ids for 127 prompt tokens, expected 1, one for each 64 "
      "tokens (--id-block says another block size)");
}

TEST_CASE("formats: dynamo's events, completion order, hashes above 2^63") {
  const auto event = [](const char* received, const char* hash) {
    return std::string(R"({"timestamp":1,"event":{"event_type":"request_end","agent_context":)") +
           R"({"session_id":"s"},"request":{"input_tokens":15,"output_tokens":3,"request_received_ms":)" +
           received +
           R"(,"total_time_ms":100.5,"replay":{"trace_block_size":16,"input_length":15,)" +
           R"("input_sequence_hashes":[)" + hash + "]}}}}\n";
  };
  const Reading reading =
      read(event("1779163048815", "15497297964160480790") +
           R"({"event_type":"tool_start","tool":{}})" + "\n" + event("1779163048800", "5"));
  CHECK(reading.format == "dynamo");
  CHECK(reading.trace.id_block == 16);
  CHECK(lines(reading) ==
        Texts{"0/15/3 delay 0 ids 5", "15/15/3 delay 0 ids 15497297964160480790"});
  CHECK(reading.notes.rows == 3);
  CHECK(reading.notes.other_records == 1);
  CHECK(reading.notes.backward.lines == std::vector<std::uint64_t>{3});
  // Our own format has to be able to say it.
  std::string large = event("1", "5");
  large.replace(large.find(":16"), 3, ":65537");
  CHECK(read(large).refusal ==
        "t:1: request.replay.trace_block_size: found blocks of 65537 tokens, expected from 1 to "
        "65536 tokens");
  CHECK(read("prompt,output,prefix_ids_65537\n1,1,\n").refusal ==
        "t:1: found the column \"prefix_ids_65537\", expected prefix_ids_N, each id for N tokens "
        "from 1 to 65536");
  CHECK(lines(read("prompt,output,prefix_ids_65536\n1,1,7\n")) == Texts{"0/1/1 ids 7"});
}

TEST_CASE("formats: TraceLab's rounds arrive with their last input") {
  const Reading reading = read(
      R"({"session_id":"claude:u","round_index":0,"input_tokens_total":10,"output_tokens":2,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T05:40:20.151Z"},{"event_type":"text","timestamp":"2026-06-01T05:40:30.000Z"}]})"
      "\n"
      R"({"session_id":"claude:u","round_index":1,"input_tokens_total":20,"output_tokens":3,"timing_events":[{"event_type":"tool_result","timestamp":"2026-06-01T05:40:31.000Z"},{"event_type":"tool_result","timestamp":"2026-06-01T05:40:32.151Z"},{"event_type":"text","timestamp":"2026-06-01T05:40:40.000Z"}]})");
  CHECK(reading.format == "tracelab");
  CHECK(lines(reading) == Texts{"0/10/2 delay 0", "12000/20/3 delay 2151"});
  const Reading replay = read(
      "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
      "0,117,0,0,2318,200,300\n0,117,1,2518,348,131,0\n1,393,0,0,861,107,273\n");
  CHECK(replay.format == "tracelab_replay");
  CHECK(lines(replay) ==
        Texts{"0/2318/200 delay 0", "276/861/107 delay 0", "300/2866/131 delay 300"});
}

TEST_CASE("formats: other simulators' lists, RAGPulse, a table of one's own") {
  const Reading vidur =
      read("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n5.8926549999999995,1,2\n");
  CHECK(vidur.format == "vidur");
  CHECK(vidur.trace.requests[1].arrival_ns == 5'892'655'000);
  CHECK(lines(read("num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
                   "1,2048,2049,0.00048828125\n")) == Texts{"0/1/2048"});
  CHECK(
      lines(read("request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,"
                 "token_size\n0,2,0,1,1,4096,32\n1,2,0,3,1,2048,8\n")) ==
      Texts{"0/4096/32", "2000/2048/8"});
  CHECK(lines(read(R"({"input_toks": 5, "output_toks": 6, "arrival_time_ns": 7000000})")) ==
        Texts{"0/5/6"});
  const Reading rag = read(
      R"({"timestamp": "90", "input_length": 5, "output_length": 6, "hash_ids": {"sys_prompt": [1], "history": []}, "session_id": "q"})"
      "\n"
      R"({"timestamp": "82", "input_length": 7, "output_length": 8, "hash_ids": {"sys_prompt": [1], "history": []}, "session_id": "r"})"
      "\n\n");
  CHECK(rag.format == "ragpulse");
  CHECK(lines(rag) == Texts{"0/7/8 delay 0", "8000/5/6 delay 0"});
  CHECK(rag.notes.blank_lines == 1);

  TraceOptions own;
  own.reader.columns = {{"arrival_ms", "ts"}, {"prompt", "in"}, {"output", "out"}};
  CHECK(lines(read("out,ts,in\n3,100,2\n5,101.5,4\n", own)) == Texts{"0/2/3", "1/4/5"});
  CHECK(lines(read(R"({"ts":100,"in":2,"out":3})", own)) == Texts{"0/2/3"});
  own.reader.columns = {{"prompts", "in"}};
  CHECK(read("in\n1\n", own).refusal.starts_with("--columns: found the unknown field \"prompts\""));
  TraceOptions timed;
  timed.reader.format = "vllm_timed";
  CHECK(lines(read(
            R"({"timestamp": 1.5, "input_length": 17, "output_length": 1, "hash_ids": [1, 2]})",
            timed)) == Texts{"0/17/1 ids 1 2"});
}

TEST_CASE("policies: rows that go back in time are an error, sorted, or another recording") {
  const std::string text = R"({"arrival_ms":5,"prompt":1,"output":1}
{"arrival_ms":9,"prompt":2,"output":1}
{"arrival_ms":6,"prompt":3,"output":1}
{"arrival_ms":6,"prompt":4,"output":1}
{"arrival_ms":8,"prompt":5,"output":1}
)";
  CHECK(read(text).refusal ==
        "t:3:15: found \"6\", earlier than line 2, expected rows in order of arrival_ms (sort the "
        "rows, or have --on-unordered sort do it)");
  TraceOptions options;
  options.unordered = Unordered::kSort;
  const Reading sorted = read(text, options);
  CHECK(lines(sorted) == Texts{"0/1/1", "1/3/1", "1/4/1", "3/5/1", "4/2/1"});
  CHECK(sorted.notes.backward.count == 3);
  options.unordered = Unordered::kSegments;
  const Reading segments = read(text, options);
  CHECK(lines(segments) == Texts{"0/1/1", "4/2/1", "4/3/1", "4/4/1", "6/5/1"});
  CHECK(segments.notes.segments == 2);
  options.unordered = Unordered::kError;
  options.on_error = OnError::kSkip;
  const Reading skipped = read(text, options);
  CHECK(lines(skipped) == Texts{"0/1/1", "4/2/1"});
  CHECK(skipped.notes.skipped == 3);
}

TEST_CASE("policies: times beyond what 63 bits hold are refused in whatever way they come about") {
  // 292 years are 9.22e18 ns. Turns behind turns:
  TraceOptions options;
  options.on_error = OnError::kSkip;
  const Reading turns =
      read(R"({"session_id": "x", "timestamp": 5, "input_length": 3, "output_length": 4})"
           "\n"
           R"({"session_id": "x", "delay": 9e12, "input_length": 5, "output_length": 6})"
           "\n"
           R"({"session_id": "x", "delay": 9e12, "input_length": 7, "output_length": 8})",
           options);
  CHECK(lines(turns) == Texts{"0/3/4 delay 0"});
  REQUIRE(turns.notes.mistakes.size() == 2);
  CHECK(describe(turns.notes.mistakes[0]) ==
        "t:2: found a time more than 146 years after the first, expected at most 146 years");
  CHECK(describe(turns.notes.mistakes[1]) ==
        "t:3: found a turn more than 292 years after time 0, expected times from 0 to 292 years");
  CHECK(read("session_id,arrival_time,prefix_len,input_len,output_len,tool_wait_after_ms\n"
             "a,5,0,1,1,9e12\na,6,0,1,1,9e12\na,7,0,1,1,0\n")
            .refusal ==
        "t:4: found a turn more than 292 years after time 0, expected times from 0 "
        "to 292 years");
  CHECK(
      read(R"({"id":"s","block_size":64,"requests":[{"t":1,"in":1,"out":1},)"
           R"({"t":9e9,"type":"subagent","agent_id":"a","requests":[{"t":8e9,"in":1,"out":1}]}]})")
          .refusal ==
      "t:1:121: t: found a turn more than 292 years after time 0, expected times from 0 to 292 "
      "years");
  // Where a time only ends a turn, the delay behind it is none.
  CHECK(lines(read("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total "
                   "tokens,Log Type\n"
                   "5,1,9e9,m,1,1,2,l\n6,1,9223372036,m,1,1,2,l\n7,1,1,m,1,1,2,l\n")) ==
        Texts{"0/1/1 delay 0", "1000/1/1 delay 0", "2000/1/1 delay 0"});
  // A recording behind another.
  options.unordered = Unordered::kSegments;
  const Reading segments =
      read("arrival_s,prompt,output\n0,1,1\n3e9,2,1\n0,3,1\n3e9,4,1\n0,5,1\n9e9,6,1\n", options);
  CHECK(lines(segments) == Texts{"0/1/1", "3000000000000/2/1", "3000000000000/3/1"});
  CHECK(segments.notes.skipped == 3);
  CHECK(describe(segments.notes.mistakes[0]) ==
        "t:5:1: found a time more than 146 years after the first, expected at most 146 years");
  // A trace of 100 years twice.
  const Trace years = read("arrival_s,prompt,output\n0,1,1\n3e9,2,1\n").trace;
  Repeated repeated([&] { return std::make_unique<TraceSource>(years); }, 3);
  TraceRequest request;
  CHECK(repeated.next(request));
  CHECK(repeated.next(request));
  CHECK(!repeated.next(request));
  REQUIRE(repeated.error().has_value());
  CHECK(describe(*repeated.error()) ==
        "--repeat: found times that end in time 2 of 3, expected at most 146 years");
}

TEST_CASE(
    "policies: outputs of 0 are kept or dropped; mistakes end or are counted; forks keep up") {
  const std::string text = R"({"prompt":10,"output":0}
{"prompt":11,"output":1}
{"prompt":"x","output":1}
{"prompt":12,"output":1,"fork_of":1,"fork_at":4}
{"prompt":13,"output":1,"fork_of":0,"fork_at":4}
{"prompt":14,"output":1,"fork_of":5}
)";
  CHECK(read(text).refusal == "t:3:11: found \"\"x\"\", expected prompt from 1 to 4294967295");
  TraceOptions options;
  options.on_error = OnError::kSkip;
  options.zero_output = ZeroOutput::kDrop;
  const Reading reading = read(text, options);
  CHECK(lines(reading) == Texts{"0/11/1", "0/12/1", "0/13/1"});
  CHECK(reading.trace.requests[1].fork_of == 0);
  CHECK(reading.trace.requests[1].fork_at == 4);
  CHECK(reading.trace.requests[2].fork_of == kNoRequest);  // its parent was dropped
  CHECK(reading.notes.skipped == 2);
  CHECK(reading.notes.dropped == 1);
  REQUIRE(reading.notes.mistakes.size() == 2);
  CHECK(
      describe(reading.notes.mistakes[1]) ==
      "t:6: found a fork of request 5 in request 5, expected a request before it, the first being "
      "0");
}

/// Everything that a request can say.
Trace everything() {
  Trace trace;
  trace.name = "t";
  trace.id_block = 16;
  trace.requests.push_back({.arrival_ns = 0,
                            .prompt = 40,
                            .output = 3,
                            .limit = 9,
                            .samples = 2,
                            .priority = 1,
                            .abort_ns = 70,
                            .session = 5,
                            .delay_ns = 8,
                            .prefix_ids = {1, UINT64_MAX, 3},
                            .accepted = {0, 3}});
  trace.requests.push_back({.arrival_ns = 5, .prompt = 1, .output = 0});
  trace.requests.push_back(
      {.arrival_ns = 9, .prompt = 50, .output = 4, .fork_of = 0, .fork_at = 30, .session = 6});
  trace.requests.push_back({.arrival_ns = 12, .prompt = 2, .output = 4, .abort_ns = 12});
  return trace;
}

TEST_CASE("our own format: what is written is read back, as JSON Lines and as CSV") {
  const Trace trace = everything();
  for (const WrittenFormat format : {WrittenFormat::kJsonLines, WrittenFormat::kCsv}) {
    const TraceWriter writer(format, trace.id_block, UsedFields::all());
    std::string text = writer.header();
    for (const TraceRequest& request : trace.requests) writer.append(request, text);
    const Reading reading = read(text);
    CHECK(reading.refusal == "");
    CHECK(reading.format == "plain");
    CHECK(reading.trace.id_block == 16);
    CHECK(trace_digest(reading.trace) == trace_digest(trace));
  }
}

std::vector<TraceRequest> all_of(RequestSource& source) {
  std::vector<TraceRequest> requests;
  TraceRequest request;
  while (source.next(request)) requests.push_back(request);
  return requests;
}

TEST_CASE(
    "transformations: a stretch of time begins at 0, and forks of what is left out stand alone") {
  const Trace trace = everything();
  TimeWindow window(std::make_unique<TraceSource>(trace), 5, 12);
  const auto kept = all_of(window);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].arrival_ns == 0);
  CHECK(kept[1].arrival_ns == 4);
  CHECK(kept[1].fork_of == kNoRequest);
}

TEST_CASE("transformations: shares hold whole sessions and together are the trace") {
  Trace trace;
  for (std::uint32_t i = 0; i < 200; ++i) {
    TraceRequest request{.arrival_ns = i, .prompt = 1 + i, .output = 1};
    if (i % 2 == 0) request.session = i % 14;
    if (i >= 28 && i % 2 == 0) {
      request.fork_of = i - 28;  // of its session
      request.fork_at = 1;
    }
    trace.requests.push_back(request);
  }
  std::vector<bool> seen(200, false);
  for (std::uint64_t share = 1; share <= 3; ++share) {
    Shard shard(std::make_unique<TraceSource>(trace), share, 3);
    const auto kept = all_of(shard);
    CHECK(kept.size() > 20);
    for (const TraceRequest& request : kept) {
      CHECK_FALSE(seen[request.prompt - 1]);
      seen[request.prompt - 1] = true;
      if (request.fork_of == kNoRequest) continue;
      CHECK(kept[request.fork_of].prompt + 28 == request.prompt);
    }
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 200);
}

TEST_CASE("transformations: repeats have times, sessions, ids and forks of their own") {
  const Trace trace = everything();
  Repeated repeated([&] { return std::make_unique<TraceSource>(trace); }, 3);
  const auto all = all_of(repeated);
  REQUIRE(all.size() == 12);
  CHECK(all[4].arrival_ns == 16);  // 12 and the mean gap of 4
  CHECK(all[11].arrival_ns == 2 * 16 + 12);
  CHECK(all[4].abort_ns == 16 + 70);
  CHECK(all[6].fork_of == 4);
  CHECK(all[4].session != all[0].session);
  CHECK(all[4].prefix_ids[0] != all[0].prefix_ids[0]);
  CHECK(all[8].prefix_ids[0] != all[4].prefix_ids[0]);
  CHECK(all[5].session == kNoSession);
}

}  // namespace
}  // namespace pinfold::sim
