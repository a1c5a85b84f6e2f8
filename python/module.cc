// The Python module pinfold._core: the simulator's own functions, and nothing that decides anything.
// python/pinfold puts the interface on top.

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/capacity_command.h"
#include "sim/cli/config_flags.h"
#include "sim/cli/explore_command.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/sweep_command.h"
#include "sim/cli/trace_options.h"
#include "sim/config/parse.h"
#include "sim/config/resolved_config.h"
#include "sim/core/cost_provenance.h"
#include "sim/core/simulate.h"
#include "sim/core/trace_span.h"
#include "sim/report/capacity_report.h"
#include "sim/report/run_report.h"
#include "sim/report/version.h"
#include "sim/sweep/capacity.h"
#include "sim/sweep/requirement.h"
#include "sim/sweep/run_tasks.h"
#include "sim/sweep/sweep_store.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_source.h"

namespace py = pybind11;

namespace pinfold::sim {
namespace {

/// Thrown as pinfold.ConfigError and pinfold.TraceError.
struct ConfigMistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct TraceMistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- Signals -------------------------------------------------------------------------------------

/// Runs Python's signal handlers: a Ctrl-C leaves the run as the KeyboardInterrupt that it is.
void check_signals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// --- Configurations and traces -------------------------------------------------------------------

/// `documents` are JSON texts that beat the files.
RunConfig load(const std::vector<std::string>& files, const std::vector<std::string>& documents,
               const std::vector<std::string>& overrides,
               const std::optional<std::string>& vllm_args) {
  Outcome<ConfigSources> sources =
      sources_of({.files = files, .vllm_args = vllm_args, .overrides = overrides});
  if (!sources) throw ConfigMistake(describe(sources.error()));
  for (const std::string& document : documents) {
    Outcome<JsonValue> value = parse_json(document, "config");
    if (!value) throw ConfigMistake(describe(value.error()));
    sources.value().documents.push_back({"config", std::move(value.value())});
  }
  std::vector<InputError> mistakes;
  Outcome<LoadedConfig> loaded = load_config(sources.value(), &mistakes);
  if (!loaded) {
    std::string text;  // all of them, a line each, as the program says them
    for (const InputError& mistake : mistakes)
      text += (text.empty() ? "" : "\n") + describe(mistake);
    throw ConfigMistake(text);
  }
  return loaded.value().config;
}

struct LoadedTrace {
  Trace trace;
  std::string digest;
};

/// `texts` by the names of TraceOptionTexts, which are the flags' too.
TraceOptions options_of(const std::map<std::string, std::string>& texts) {
  using Place = std::optional<std::string> TraceOptionTexts::*;
  static const std::map<std::string, Place> kPlaces{
      {"trace_format", &TraceOptionTexts::trace_format},
      {"columns", &TraceOptionTexts::columns},
      {"id_block", &TraceOptionTexts::id_block},
      {"on_unordered", &TraceOptionTexts::on_unordered},
      {"zero_output", &TraceOptionTexts::zero_output},
      {"on_error", &TraceOptionTexts::on_error},
      {"start", &TraceOptionTexts::start},
      {"end", &TraceOptionTexts::end},
      {"shard", &TraceOptionTexts::shard},
      {"limit", &TraceOptionTexts::limit},
      {"repeat", &TraceOptionTexts::repeat}};
  TraceOptionTexts given;
  for (const auto& [name, text] : texts) given.*kPlaces.at(name) = text;
  try {
    return trace_options_of(given);
  } catch (const UsageError& mistake) {
    // "--on-error: found ..." is of the argument on_error.
    std::string text = mistake.message;
    const std::size_t end = text.starts_with("--") ? std::min(text.find(':'), text.size()) : 0;
    std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '-', '_');
    throw TraceMistake(text.substr(end == 0 ? 0 : 2));
  }
}

std::shared_ptr<LoadedTrace> read(const std::string& path,
                                  const std::map<std::string, std::string>& texts) {
  const TraceOptions options = options_of(texts);
  const py::gil_scoped_release release;
  Outcome<Trace> trace = read_trace(path, options);
  if (!trace) throw TraceMistake(describe(trace.error()));
  std::string digest = trace_digest(trace.value());
  return std::make_shared<LoadedTrace>(LoadedTrace{std::move(trace.value()), std::move(digest)});
}

using Int64s = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Uint32s = py::array_t<std::uint32_t, py::array::c_style | py::array::forcecast>;

/// A trace that says what every trace has. Times count from its first arrival, as a file's do.
std::shared_ptr<LoadedTrace> trace_of_arrays(const Int64s& arrival_ns, const Uint32s& prompt,
                                             const Uint32s& output) {
  const auto wrong = [](const std::string& what) { throw TraceMistake("arrays: " + what); };
  if (arrival_ns.ndim() != 1 || prompt.ndim() != 1 || output.ndim() != 1) {
    wrong("found more than one dimension, expected one");
  }
  const py::ssize_t count = arrival_ns.size();
  if (count == 0) wrong("found no request, expected at least one");
  if (prompt.size() != count || output.size() != count) {
    wrong("found arrays of different lengths, expected one length");
  }
  auto result = std::make_shared<LoadedTrace>();
  result->trace.name = "arrays";
  result->trace.requests.resize(static_cast<std::size_t>(count));
  for (py::ssize_t n = 0; n < count; ++n) {
    TraceRequest& request = result->trace.requests[static_cast<std::size_t>(n)];
    if (prompt.at(n) == 0) wrong("request " + std::to_string(n) + ": found no prompt token");
    if (n > 0 && arrival_ns.at(n) < arrival_ns.at(n - 1)) {
      wrong("request " + std::to_string(n) + ": found an arrival before the one before it");
    }
    request.arrival_ns = arrival_ns.at(n) - arrival_ns.at(0);
    request.prompt = prompt.at(n);
    request.output = output.at(n);
  }
  result->digest = trace_digest(result->trace);
  return result;
}

/// Memory that `owner` keeps alive, as an array that nobody writes to.
template <class T>
py::array view(const T* data, std::size_t count, std::size_t stride, py::handle owner) {
  py::array_t<T> array({static_cast<py::ssize_t>(count)}, {static_cast<py::ssize_t>(stride)}, data,
                       owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

/// One field of all requests, where it lies.
template <class T>
py::array column(const py::object& self, T TraceRequest::*field) {
  const std::vector<TraceRequest>& requests = self.cast<const LoadedTrace&>().trace.requests;
  return view(&(requests.data()->*field), requests.size(), sizeof(TraceRequest), self);
}

// --- One run -------------------------------------------------------------------------------------

/// Times by request; -1 where it never came.
class RequestTimes final : public RunObserver {
 public:
  explicit RequestTimes(std::size_t requests)
      : arrival_ns(requests, -1), first_token_ns(requests, -1), end_ns(requests, -1) {}

  void on_arrival(std::uint32_t request, std::int64_t now_ns) override {
    arrival_ns.at(request) = now_ns;
  }
  void on_records(std::span<const std::byte>, std::int64_t) override {
    // Taking Python's lock for every batch of records would double the time of a run.
    constexpr std::uint32_t kCallsBetween = 4096;
    if (++calls_ % kCallsBetween == 0) check_signals();
  }
  void on_first_token(std::uint32_t request, std::int64_t now_ns) override {
    std::int64_t& first = first_token_ns.at(request);
    if (first < 0) first = now_ns;
  }
  void on_end(std::uint32_t request, std::int64_t now_ns) override { end_ns.at(request) = now_ns; }

  std::vector<std::int64_t> arrival_ns, first_token_ns, end_ns;

 private:
  std::uint32_t calls_ = 0;
};

struct RunOutcome {
  std::shared_ptr<LoadedTrace> trace;
  RequestTimes times;
  std::string verdict, detail, json, text;
};

std::int64_t ns_of_ms(double ms) { return static_cast<std::int64_t>(ms * 1e6); }

std::unique_ptr<RunOutcome> run(const std::shared_ptr<LoadedTrace>& trace, const RunConfig& config,
                                bool shadow, bool ledger, std::optional<double> ttft_ms,
                                std::optional<double> tpot_ms, std::optional<double> e2el_ms) {
  const py::gil_scoped_release release;
  if (auto error = check_span(trace->trace, config)) throw TraceMistake(describe(*error));
  auto outcome = std::make_unique<RunOutcome>(
      RunOutcome{trace, RequestTimes(trace->trace.requests.size()), {}, {}, {}, {}});
  RunOptions options;
  options.shadow = shadow;
  options.ledger = ledger;
  options.observer = &outcome->times;
  if (ttft_ms) options.measure.goodput.ttft_ns = ns_of_ms(*ttft_ms);
  if (tpot_ms) options.measure.goodput.tpot_ns = ns_of_ms(*tpot_ms);
  if (e2el_ms) options.measure.goodput.e2el_ns = ns_of_ms(*e2el_ms);
  const RunResult result = simulate(trace->trace, config, options);
  const Provenance provenance{.version = kVersion,
                              .trace = trace->trace.name,
                              .trace_digest = trace->digest,
                              .config_digest = config_digest(config),
                              .seed = config.seed,
                              .cost = cost_provenance(config)};
  outcome->verdict = name_of(result.verdict);
  outcome->detail = result.verdict_detail;
  outcome->json = run_report(result, provenance, ReportFormat::kJson);
  outcome->text = run_report(result, provenance, ReportFormat::kText);
  return outcome;
}

// --- Commands ------------------------------------------------------------------------------------

/// (status, reason, [(name, kind, text)]) of a run, as a sweep stores it.
using PlainRecord =
    std::tuple<int, std::string, std::vector<std::tuple<std::string, int, std::string>>>;

PlainRecord plain(const RunRecord& record) {
  PlainRecord result{static_cast<int>(record.status), record.reason, {}};
  for (const ReportField& field : record.figures) {
    std::get<2>(result).emplace_back(field.name, static_cast<int>(field.kind), field.text);
  }
  return result;
}

RunRecord record_of(const RunTask& task, const PlainRecord& plain) {
  RunRecord record{task.trace_digest,
                   task.config_digest,
                   static_cast<RunStatus>(std::get<0>(plain)),
                   std::get<1>(plain),
                   {}};
  for (const auto& [name, kind, text] : std::get<2>(plain)) {
    record.figures.push_back({name, static_cast<ReportField::Kind>(kind), text});
  }
  return record;
}

/// Of one run of a sweep, wherever it runs.
PlainRecord run_one(const LoadedTrace& trace, const std::string& config_json,
                    const std::string& config_digest) {
  const py::gil_scoped_release release;
  return plain(run_task({&trace.trace, trace.digest, config_json, config_digest}));
}

/// (exit code, what it prints, what it says on the side).
using Printed = std::tuple<int, std::string, std::string>;

/// `compute`, where there is one, is called with [(trace's path, its digest, configuration, its digest)]
/// and a function `done(task, record)`, which it calls once for each task.
Printed sweep(const SweepCommand& asked, const std::optional<py::function>& compute) {
  SweepCommand command = asked;
  if (compute) {
    command.compute = [&compute](std::span<const RunTask> tasks, std::size_t,
                                 const std::function<bool(std::size_t, RunRecord)>& done) {
      const py::gil_scoped_acquire gil;
      py::list list;
      for (const RunTask& task : tasks) {
        list.append(py::make_tuple(task.trace->name, task.trace_digest, task.config_json,
                                   task.config_digest));
      }
      (*compute)(list, py::cpp_function([&](std::size_t task, const PlainRecord& record) {
                   return done(task, record_of(tasks[task], record));
                 }));
    };
  } else {
    command.compute = [](std::span<const RunTask> tasks, std::size_t jobs,
                         const std::function<bool(std::size_t, RunRecord)>& done) {
      run_tasks(tasks, jobs, [&](std::size_t task, RunRecord record) {
        check_signals();
        return done(task, std::move(record));
      });
    };
  }
  std::ostringstream out, err;
  const py::gil_scoped_release release;
  const ExitCode code = sweep_command(command, out, err);
  return {static_cast<int>(code), out.str(), err.str()};
}

/// What `pinfold capacity --format json` prints for a trace and a configuration that are loaded.
std::string capacity(const std::shared_ptr<LoadedTrace>& trace, const RunConfig& config,
                     const std::string& slo, bool memory, const std::string& tolerance) {
  const py::gil_scoped_release release;
  if (auto error = check_span(trace->trace, config)) throw TraceMistake(describe(*error));
  const auto value_of = [](auto outcome) {
    if (!outcome) throw ConfigMistake(describe(outcome.error()));
    return std::move(outcome.value());
  };
  CapacityQuestion question;
  question.vary = memory ? CapacityOf::kMemory : CapacityOf::kRate;
  question.requirements = value_of(parse_requirements(slo, "slo"));
  question.tolerance = value_of(parse_tolerance(tolerance));
  ConfigSources base;
  base.documents.push_back({"config", value_of(parse_json(resolved_json(config), "config"))});
  const CapacityResult result =
      value_of(find_capacity(trace->trace, base, question, [](std::size_t) { check_signals(); }));
  const Provenance provenance{.version = kVersion,
                              .trace = trace->trace.name,
                              .trace_digest = trace->digest,
                              .config_digest = config_digest(config),
                              .seed = config.seed};
  return capacity_json(result, trace->trace, provenance);
}

Printed explored(const std::string& scenario, const std::vector<std::string>& overrides) {
  const py::gil_scoped_release release;
  ExploreCommand command;
  command.scenario = scenario;
  command.overrides = overrides;
  command.json = true;
  std::ostringstream out, err;
  const ExitCode code = explore_command(command, out, err);
  return {static_cast<int>(code), out.str(), err.str()};
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The simulator's own functions; use the package pinfold.";
  module.attr("version") = kVersion;
  module.attr("has_store") = has_sweep_store();
  const py::module_ errors = py::module_::import("pinfold.errors");
  const auto raises = [&errors](const char* name) {
    return py::object(errors.attr(name)).release().ptr();  // lives as long as the process
  };
  static PyObject* const config_error = raises("ConfigError");
  static PyObject* const trace_error = raises("TraceError");
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const ConfigMistake& mistake) {
      PyErr_SetString(config_error, mistake.what());
    } catch (const TraceMistake& mistake) {
      PyErr_SetString(trace_error, mistake.what());
    }
  });

  py::class_<RunConfig>(module, "Config")
      .def(py::init(&load))
      .def_property_readonly("json", &resolved_json)
      .def_property_readonly("digest", &config_digest);
  module.def("schema", &config_schema);

  py::class_<LoadedTrace, std::shared_ptr<LoadedTrace>>(module, "Trace")
      .def(py::init(&read))
      .def_static("of_arrays", &trace_of_arrays)
      .def_property_readonly("name", [](const LoadedTrace& self) { return self.trace.name; })
      .def_property_readonly("digest", [](const LoadedTrace& self) { return self.digest; })
      .def("__len__", [](const LoadedTrace& self) { return self.trace.requests.size(); })
      .def_property_readonly(
          "arrival_ns",
          [](const py::object& self) { return column(self, &TraceRequest::arrival_ns); })
      .def_property_readonly(
          "prompt_tokens",
          [](const py::object& self) { return column(self, &TraceRequest::prompt); })
      .def_property_readonly("output_tokens", [](const py::object& self) {
        return column(self, &TraceRequest::output);
      });

  const auto times = [](std::vector<std::int64_t> RequestTimes::*field) {
    return [field](const py::object& self) {
      const std::vector<std::int64_t>& all = self.cast<const RunOutcome&>().times.*field;
      return view(all.data(), all.size(), sizeof(std::int64_t), self);
    };
  };
  py::class_<RunOutcome>(module, "Outcome")
      .def_readonly("trace", &RunOutcome::trace)
      .def_readonly("verdict", &RunOutcome::verdict)
      .def_readonly("detail", &RunOutcome::detail)
      .def_readonly("json", &RunOutcome::json)
      .def_readonly("text", &RunOutcome::text)
      .def_property_readonly("arrival_ns", times(&RequestTimes::arrival_ns))
      .def_property_readonly("first_token_ns", times(&RequestTimes::first_token_ns))
      .def_property_readonly("end_ns", times(&RequestTimes::end_ns));
  module.def("run", &run);

  module.def("run_one", &run_one);
  module.def("sweep",
             [](std::optional<std::string> file, std::vector<std::string> traces,
                std::vector<std::string> configs, std::vector<std::string> overrides,
                std::vector<std::string> lists, std::optional<std::string> seeds,
                std::optional<std::string> hold, std::optional<std::string> directory,
                std::size_t jobs, bool resume, const std::optional<py::function>& compute) {
               SweepCommand command;
               command.file = std::move(file);
               command.traces = std::move(traces);
               command.config.files = std::move(configs);
               command.config.overrides = std::move(overrides);
               command.lists = std::move(lists);
               command.seeds = std::move(seeds);
               command.hold = std::move(hold);
               command.directory = std::move(directory);
               command.jobs = jobs;
               command.resume = resume;
               command.format = SweepFormat::kJson;
               return sweep(command, compute);
             });
  module.def("capacity", &capacity);
  module.def("explore", &explored);
}

}  // namespace pinfold::sim
