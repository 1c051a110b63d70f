#include "entries.hpp"

#include <damaris/error.hpp>

#include "file_entries.hpp"

namespace damaris::manifest {
namespace {

// The library's exceptions name the key.
template <class Read>
auto reading(const char* what, Read&& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error(DC_E_IO, std::string(what) + " is damaged: " + error.what());
  }
}

// What a step seldom has: left out where it has not.
class Puts {
 public:
  explicit Puts(Json& json) : json_(json) {}
  template <class T>
  Puts& operator()(const char* key, const T& value) {
    if (value != T{}) json_[key] = value;
    return *this;
  }
  Puts& operator()(const char* key, const std::optional<double>& value) { return put(json_, key, value), *this; }

 private:
  Json& json_;
};
class Takes {
 public:
  explicit Takes(const Json& json) : json_(json) {}
  template <class T>
  Takes& operator()(const char* key, T& value) {
    return take(json_, key, value), *this;
  }

 private:
  const Json& json_;
};

template <class Each, class Step>
void rare_fields(Each&& each, Step& step) {
  each("time", step.time)("recovered", step.recovered)("retries", step.retries)("waited_s", step.waited_s);
  each("stored_s", step.stored_s)("memory_bytes", step.memory_bytes)("at", step.at)("absent", step.absent);
  each("missing", step.missing)("never_attached", step.never_attached)("skipped", step.skipped)("dropped", step.dropped);
  each("reduced", step.reduced)("waits", step.waits)("spilled_bytes", step.spilled_bytes)("failures", step.failures);
  each("warnings", step.warnings);
}

}  // namespace

Json to_json(const StepEntry& step) {
  FilesTotal total = total_of(step.files);
  add(total, step.total);
  Json json = {{"step", step.step},          {"complete", step.complete},    {"servers", step.servers},
               {"datasets", total.datasets}, {"raw_bytes", total.raw_bytes}, {"stored_bytes", total.stored_bytes}};
  rare_fields(Puts(json), step);
  for (const FileEntry& file : step.files) json["files"].push_back(to_json(file));
  return json;
}

StepEntry step_from_json(const Json& json) {
  return reading("a step", [&] {
    StepEntry step;
    read_value(json.at("step"), step.step);
    read_value(json.at("complete"), step.complete);
    read_value(json.at("servers"), step.servers);
    read_value(json.at("datasets"), step.total.datasets);
    read_value(json.at("raw_bytes"), step.total.raw_bytes);
    read_value(json.at("stored_bytes"), step.total.stored_bytes);
    rare_fields(Takes(json), step);
    return step;
  });
}

Json to_json(const ViewEntry& view) {
  return {{"view", view.name}, {"bytes", view.bytes}, {"checksum", text_of_checksum(view.checksum)}};
}

ViewEntry view_from_json(const Json& json) {
  return reading("a view", [&] {
    ViewEntry view;
    read_value(json.at("view"), view.name);
    check_name(view.name);
    read_value(json.at("bytes"), view.bytes);
    view.checksum = checksum_from(json.at("checksum").get<std::string>());
    return view;
  });
}

}  // namespace damaris::manifest
