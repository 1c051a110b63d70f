#include "encoded_files.hpp"

#include <damaris/error.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "file_entries.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are little-endian");

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // no such property

[[noreturn]] void refuse(const std::string& why) { throw Error(DC_E_IO, "its description is damaged: " + why); }

// The library's exceptions name the key.
template <class Read>
auto decoding(Read&& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

Json parsed(std::string_view text) {
  if (is_too_deep(text)) refuse("it is nested too deeply");
  return Json::parse(text);
}

// One property of the datasets: its name in the head, and its place in an entry.
struct Column {
  const char* name;
  std::size_t size_bytes;  // of a number
  std::function<void(const DatasetEntry&, char*)> get;
  std::function<void(DatasetEntry&, const char*)> set;
  std::function<bool(const DatasetEntry&)> has;  // a column that no dataset has is left out
};

template <class Integer>
Column whole_numbers(const char* name, Integer DatasetEntry::*member) {
  return {name, sizeof(Integer),
          [member](const DatasetEntry& dataset, char* to) { std::memcpy(to, &(dataset.*member), sizeof(Integer)); },
          [member](DatasetEntry& dataset, const char* from) { std::memcpy(&(dataset.*member), from, sizeof(Integer)); },
          [](const DatasetEntry&) { return true; }};
}

Column numbers(const char* name, std::optional<double> DatasetEntry::*member) {
  const auto value_of = [member](const DatasetEntry& dataset) {
    const double value = (dataset.*member).value_or(kNone);
    return std::isfinite(value) ? value : kNone;
  };
  return {name, sizeof(double),
          [value_of](const DatasetEntry& dataset, char* to) {
            const double value = value_of(dataset);
            std::memcpy(to, &value, sizeof value);
          },
          [member](DatasetEntry& dataset, const char* from) {
            double value = 0;
            std::memcpy(&value, from, sizeof value);
            if (std::isfinite(value)) dataset.*member = value;
          },
          [value_of](const DatasetEntry& dataset) { return !std::isnan(value_of(dataset)); }};
}

const std::vector<Column>& all_columns() {
  static const std::vector<Column> columns = {whole_numbers("stored_bytes", &DatasetEntry::stored_bytes),
                                              whole_numbers("checksum", &DatasetEntry::checksum),
                                              numbers("min", &DatasetEntry::min),
                                              numbers("max", &DatasetEntry::max),
                                              numbers("largest_error", &DatasetEntry::largest_error),
                                              numbers("scale", &DatasetEntry::scale),
                                              numbers("offset", &DatasetEntry::offset)};
  return columns;
}

template <class Each>
void for_each_dataset(const std::vector<FileEntry>& files, Each&& each) {
  for (const FileEntry& file : files)
    for (const DatasetEntry& dataset : file.datasets) each(dataset);
}

bool is_used(const Column& column, const std::vector<FileEntry>& files) {
  bool used = false;
  for_each_dataset(files, [&](const DatasetEntry& dataset) { used = used || column.has(dataset); });
  return used;
}

void append(std::string& text, const Column& column, const std::vector<FileEntry>& files) {
  for_each_dataset(files, [&](const DatasetEntry& dataset) {
    text.resize(text.size() + column.size_bytes);
    column.get(dataset, &text[text.size() - column.size_bytes]);
  });
}

// The head of values, and the bytes after it.
struct Values {
  Json head;
  std::string_view columns;
};

Values split(std::string_view values) {
  const std::size_t end = values.find('\n');
  if (end == std::string_view::npos) refuse("it has no head");
  return {parsed(values.substr(0, end)), values.substr(end + 1)};
}

// Where the column of each name in the head begins.
struct Found {
  const Column* column;
  const char* begin;
};

std::vector<Found> find_columns(const Values& values, std::size_t datasets) {
  std::vector<Found> found;
  std::size_t at = 0;
  for (const Json& name : values.head.at("columns")) {
    const Column* known = nullptr;
    for (const Column& column : all_columns())
      if (name.get_ref<const std::string&>() == column.name) known = &column;
    if (known == nullptr) refuse("it has a column '" + name.get<std::string>() + "', which this version does not know");
    if (datasets > (values.columns.size() - at) / known->size_bytes) refuse("it is too short");
    found.push_back({known, values.columns.data() + at});
    at += datasets * known->size_bytes;
  }
  if (at != values.columns.size()) refuse("it is too long");
  return found;
}

std::size_t count_of(const std::vector<FileEntry>& files) {
  std::size_t count = 0;
  for (const FileEntry& file : files) count += file.datasets.size();
  return count;
}

// The file without its datasets.
FileEntry file_of(const FileEntry& facts, const Json& head) {
  FileEntry file;
  file.server = facts.server;
  read_value(head.at("name"), file.name);
  check_name(file.name);
  read_value(head.at("bytes"), file.bytes);
  if (head.contains("checksum")) file.checksum = checksum_from(head.at("checksum").get<std::string>());
  return file;
}

}  // namespace

std::string facts_of(const std::vector<FileEntry>& files) {
  Json json = Json::array();
  for (const FileEntry& file : files) {
    Json datasets = Json::array();
    for (const DatasetEntry& dataset : file.datasets) datasets.push_back(facts_of(dataset));
    json.push_back({{"server", file.server}, {"datasets", std::move(datasets)}});
  }
  return text_of(json);
}

std::string values_of(const std::vector<FileEntry>& files) {
  Json head = {{"files", Json::array()}, {"columns", Json::array()}};
  for (const FileEntry& file : files) {
    Json& one = head["files"].emplace_back(Json{{"name", file.name}, {"bytes", file.bytes}});
    if (file.checksum) one["checksum"] = text_of_checksum(*file.checksum);
  }
  std::string columns;
  for (const Column& column : all_columns()) {
    if (!is_used(column, files)) continue;
    head["columns"].push_back(column.name);
    append(columns, column, files);
  }
  return text_of(head) + "\n" + columns;
}

std::vector<FileEntry> files_from_facts(std::string_view facts) {
  return decoding([&] {
    std::vector<FileEntry> files;
    for (const Json& one : parsed(facts)) {
      FileEntry& file = files.emplace_back();
      read_value(one.at("server"), file.server);
      for (const Json& dataset : one.at("datasets")) file.datasets.push_back(dataset_from_facts(dataset));
    }
    return files;
  });
}

std::vector<FileEntry> with_values(const std::vector<FileEntry>& files, std::string_view values, const std::string& variable) {
  return decoding([&] {
    const Values parts = split(values);
    const Json& heads = parts.head.at("files");
    if (heads.size() != files.size()) refuse("it has another number of files than its facts");
    const std::vector<Found> columns = find_columns(parts, count_of(files));
    std::vector<FileEntry> complete;
    std::size_t index = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      FileEntry file = file_of(files[i], heads.at(i));
      for (const DatasetEntry& facts : files[i].datasets) {
        const std::size_t place = index++;
        if (!variable.empty() && facts.variable != variable) continue;
        DatasetEntry& dataset = file.datasets.emplace_back(facts);
        for (const Found& one : columns) one.column->set(dataset, one.begin + place * one.column->size_bytes);
      }
      complete.push_back(std::move(file));
    }
    return complete;
  });
}

std::vector<std::string> names_in(std::string_view values) {
  return decoding([&] {
    const Values parts = split(values);
    std::vector<std::string> names;
    for (const Json& one : parts.head.at("files")) {
      names.push_back(one.at("name").get<std::string>());
      check_name(names.back());
    }
    return names;
  });
}

}  // namespace damaris::manifest
