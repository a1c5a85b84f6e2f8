#include "sim/trace/trace_writer.h"

#include <fmt/format.h>

#include "sim/trace/timestamp.h"

namespace pinfold::sim {
namespace {

void append_number(std::string& text, std::uint64_t number) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

template <class Number>
void append_list(std::string& text, const std::vector<Number>& numbers, const char* between) {
  bool first = true;
  for (const Number number : numbers) {
    if (!first) text += between;
    first = false;
    append_number(text, number);
  }
}

}  // namespace

void UsedFields::add(const TraceRequest& request) {
  limit = limit || request.limit != 0;
  samples = samples || request.samples != 1;
  priority = priority || request.priority != 0;
  abort = abort || request.abort_ns != kNeverNs;
  fork = fork || request.fork_of != kNoRequest;
  session = session || request.session != kNoSession;
  delay = delay || request.delay_ns != 0;
  prefix_ids = prefix_ids || !request.prefix_ids.empty();
  accepted = accepted || !request.accepted.empty();
}

TraceWriter::TraceWriter(WrittenFormat format, std::uint32_t id_block, const UsedFields& used)
    : format_(format), used_(used) {
  if (id_block > 0) ids_name_ = fmt::format("prefix_ids_{}", id_block);
  used_.prefix_ids = used_.prefix_ids && id_block > 0;
}

std::string TraceWriter::header() const {
  if (format_ == WrittenFormat::kJsonLines) return {};
  if (format_ == WrittenFormat::kAzure) return "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  std::string text = "arrival_ns,prompt,output";
  const auto add = [&](bool used, const std::string& name) {
    if (used) text += "," + name;
  };
  add(used_.limit, "limit");
  add(used_.samples, "samples");
  add(used_.priority, "priority");
  add(used_.abort, "abort_ns");
  add(used_.fork, "fork_of,fork_at");
  add(used_.session, "session");
  add(used_.delay, "delay_ns");
  add(used_.prefix_ids, ids_name_);
  add(used_.accepted, "accepted");
  return text + "\n";
}

void TraceWriter::append(const TraceRequest& request, std::string& text) const {
  switch (format_) {
    case WrittenFormat::kJsonLines: append_json(request, text); return;
    case WrittenFormat::kCsv: append_csv(request, text); return;
    case WrittenFormat::kAzure: break;
  }
  constexpr std::int64_t kFirstNs = 1'704'067'200'000'000'000;  // 2024-01-01 00:00:00
  text += timestamp_text(kFirstNs + request.arrival_ns);
  text += ',';
  append_number(text, request.prompt);
  text += ',';
  append_number(text, request.output);
  text += '\n';
}

void TraceWriter::append_csv(const TraceRequest& request, std::string& text) const {
  append_number(text, static_cast<std::uint64_t>(request.arrival_ns));
  const auto add = [&](bool used, bool there, std::uint64_t number) {
    if (!used) return;
    text += ',';
    if (there) append_number(text, number);
  };
  add(true, true, request.prompt);
  add(true, true, request.output);
  add(used_.limit, request.limit != 0, request.limit);
  add(used_.samples, request.samples != 1, request.samples);
  add(used_.priority, request.priority != 0, request.priority);
  add(used_.abort, request.abort_ns != kNeverNs, static_cast<std::uint64_t>(request.abort_ns));
  add(used_.fork, request.fork_of != kNoRequest, request.fork_of);
  add(used_.fork, request.fork_at != 0, request.fork_at);
  add(used_.session, request.session != kNoSession, request.session);
  add(used_.delay, request.delay_ns != 0, static_cast<std::uint64_t>(request.delay_ns));
  if (used_.prefix_ids) {
    text += ',';
    append_list(text, request.prefix_ids, " ");
  }
  if (used_.accepted) {
    text += ',';
    append_list(text, request.accepted, " ");
  }
  text += '\n';
}

void TraceWriter::append_json(const TraceRequest& request, std::string& text) const {
  text += "{\"arrival_ns\":";
  append_number(text, static_cast<std::uint64_t>(request.arrival_ns));
  const auto add = [&](bool there, const char* key, std::uint64_t number) {
    if (!there) return;
    text += key;
    append_number(text, number);
  };
  add(true, ",\"prompt\":", request.prompt);
  add(true, ",\"output\":", request.output);
  add(request.limit != 0, ",\"limit\":", request.limit);
  add(request.samples != 1, ",\"samples\":", request.samples);
  add(request.priority != 0, ",\"priority\":", request.priority);
  add(request.abort_ns != kNeverNs, ",\"abort_ns\":", static_cast<std::uint64_t>(request.abort_ns));
  add(request.fork_of != kNoRequest, ",\"fork_of\":", request.fork_of);
  add(request.fork_at != 0, ",\"fork_at\":", request.fork_at);
  add(request.session != kNoSession, ",\"session\":", request.session);
  add(request.delay_ns != 0, ",\"delay_ns\":", static_cast<std::uint64_t>(request.delay_ns));
  if (!ids_name_.empty()) {
    text += ",\"";
    text += ids_name_;
    text += "\":[";
    append_list(text, request.prefix_ids, ",");
    text += ']';
  }
  if (!request.accepted.empty()) {
    text += ",\"accepted\":[";
    append_list(text, request.accepted, ",");
    text += ']';
  }
  text += "}\n";
}

}  // namespace pinfold::sim
