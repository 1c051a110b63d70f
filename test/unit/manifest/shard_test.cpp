// What a shard keeps of a step's files, in good order and damaged.
#include "manifest/shard.hpp"

#include <damaris/error.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "manifest/encoded_files.hpp"
#include "manifest/file_entries.hpp"
#include "manifest/server_report.hpp"
#include "manifest/shard_reader.hpp"
#include "support/temp_folder.hpp"

namespace damaris::test {
namespace {

using namespace damaris::manifest;

DatasetEntry dataset(const std::string& variable, std::int64_t low, std::uint32_t checksum) {
  DatasetEntry entry;
  entry.path = entry.variable = variable;
  entry.has_position = true;
  entry.box.ndims = 1;
  entry.box.low[0] = low;
  entry.box.high[0] = low + 4;
  entry.global = {100};
  entry.raw_bytes = 32;
  entry.stored_bytes = 20;
  entry.checksum = checksum;
  return entry;
}

// Of one server: theta with a range, and count without.
FileEntry file_of(int server, int step) {
  FileEntry file;
  file.name = "storm.node.s" + std::to_string(server) + ".i" + std::to_string(step) + ".h5";
  file.server = server;
  file.bytes = 1000U + static_cast<unsigned>(step);
  file.checksum = 7U + static_cast<unsigned>(step);
  file.datasets = {dataset("theta", 4 * server, 11), dataset("count", 4 * server, 12)};
  file.datasets[0].min = -1.5 * step;
  file.datasets[0].max = 2.25;
  file.datasets[0].largest_error = 0.125;
  return file;
}

ServerFiles files_of(int server, int step, std::string& facts, bool is_own = false) {
  StepEntry record;
  record.files = {file_of(server, step)};
  return report_of(record, server, is_own, facts).files;
}

Json as_json(const std::vector<FileEntry>& files) {
  Json list = Json::array();
  for (const FileEntry& file : files) list.push_back(to_json(file));
  return list;
}

StepEntry line_of(const Described& described, int step = 0) {
  StepEntry line;
  line.step = step;
  line.described = {described};
  return line;
}

struct Written {
  TempFolder folder;
  std::string facts[2];
  Shard shard{folder.file("storm.node.s0.entries.")};

  Described step(int number) { return shard.append({files_of(0, number, facts[0], true), files_of(1, number, facts[1])}); }
  std::string path(const Described& described) const { return folder.file(described.in); }
};

TEST_CASE("a shard gives back the files of each step, whole or of one variable, and keeps what does not change once") {
  Written run;
  const Described first = run.step(0), second = run.step(1), third = run.step(2);
  CHECK(second.at - first.at - first.bytes > 0);
  CHECK(third.at - second.at == second.bytes + 16);  // the header of a step: no facts between
  ShardReader reader(run.folder.path());
  CHECK(as_json(reader.complete(line_of(second)).files) == as_json({file_of(0, 1), file_of(1, 1)}));
  CHECK(as_json(reader.complete(line_of(first)).files) == as_json({file_of(0, 0), file_of(1, 0)}));
  const StepEntry theta = reader.complete(line_of(third), "theta");
  REQUIRE(theta.files.size() == 2);
  CHECK(theta.files[1].datasets.size() == 1);
  CHECK(theta.files[1].datasets[0].min == -3.0);
  CHECK(reader.complete(line_of(third), "none").files.empty());
  CHECK(reader.names_of(line_of(third)) == std::vector<std::string>{file_of(0, 2).name, file_of(1, 2).name});
}

TEST_CASE("a shard that is removed or moved is begun anew, with the facts that other servers sent once", "[unpromised]") {
  Written run;
  const Described lost = run.step(0);
  if (GENERATE(true, false))
    std::filesystem::remove(run.path(lost));
  else
    std::filesystem::rename(run.path(lost), run.folder.file("elsewhere"));
  CHECK(run.shard.is_gone());
  const Described next = run.step(1);
  CHECK(next.in != lost.in);
  CHECK(run.shard.has_made(lost.in));
  ShardReader reader(run.folder.path());
  CHECK(as_json(reader.complete(line_of(next)).files) == as_json({file_of(0, 1), file_of(1, 1)}));
  CHECK_THROWS_WITH(reader.complete(line_of(lost, 3)), Catch::Contains(lost.in) && Catch::Contains("is missing"));
}

TEST_CASE("a shard that is cut or overwritten during the run is begun anew, or refuses the step, and never keeps foreign facts") {
  Written run;
  const Described first = run.step(0);
  if (GENERATE(true, false)) {
    std::filesystem::resize_file(run.path(first), first.at);  // its facts are whole
    const Described next = run.step(1);
    CHECK(next.in != first.in);
    ShardReader reader(run.folder.path());
    CHECK(as_json(reader.complete(line_of(next)).files) == as_json({file_of(0, 1), file_of(1, 1)}));
    return;
  }
  std::fstream file(run.path(first), std::ios::in | std::ios::out | std::ios::binary);
  file << std::string(first.at, 'x');
  file.close();
  std::filesystem::rename(run.path(first), run.folder.file("elsewhere"));
  CHECK_THROWS_WITH(run.step(1), Catch::Contains("was overwritten, and with it what server 1 has said of its datasets"));
}

TEST_CASE("a shard that was unreadable for a while is read when it is whole again") {
  Written run;
  const Described only = run.step(0);
  const std::string aside = run.folder.file("aside");
  std::filesystem::copy(run.path(only), aside);
  std::filesystem::resize_file(run.path(only), only.at);
  ShardReader reader(run.folder.path());
  CHECK_THROWS_WITH(reader.complete(line_of(only)), Catch::Contains("is cut off"));
  std::filesystem::rename(aside, run.path(only));
  CHECK(reader.complete(line_of(only)).files.size() == 2);
}

TEST_CASE("a damaged, cut or foreign shard is named, and nothing is invented") {
  Written run, other;
  const Described first = run.step(0), second = run.step(1);
  ShardReader reader(run.folder.path());
  const auto refused = [&](const Described& described, const std::string& what) {
    ShardReader fresh(run.folder.path());
    CHECK_THROWS_WITH(fresh.complete(line_of(described)), Catch::Contains(first.in) && Catch::Contains(what));
  };
  SECTION("cut") {
    std::filesystem::resize_file(run.path(first), second.at + second.bytes - 1);
    refused(second, "is cut off");
    CHECK(reader.complete(line_of(first)).files.size() == 2);
  }
  SECTION("any changed byte") {
    const auto size = static_cast<std::uint64_t>(std::filesystem::file_size(run.path(first)));
    for (std::uint64_t at = 0; at < size; ++at) {
      const bool is_header_of_step = (at >= first.at - 16 && at < first.at) || (at >= second.at - 16 && at < second.at);
      if (is_header_of_step) continue;  // of no use to a reader: the line says it
      std::fstream file(run.path(first), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char before = static_cast<char>(file.get());
      file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(before ^ 4)).flush();
      const auto read = [&](const Described& one) {
        ShardReader fresh(run.folder.path());
        return as_json(fresh.complete(line_of(one)).files);
      };
      bool found = false;
      for (const int step : {0, 1}) try {
          const Json files = read(step == 0 ? first : second);
          CHECK(files == as_json({file_of(0, step), file_of(1, step)}));
        } catch (const Error& error) {
          found = error.code() == DC_E_IO;
        }
      INFO(at);
      CHECK(found);
      file.seekp(static_cast<std::streamoff>(at)).put(before).flush();
    }
  }
  SECTION("of another run") {
    const Described foreign = other.step(5);
    std::filesystem::copy(other.path(foreign), run.path(first), std::filesystem::copy_options::overwrite_existing);
    refused(first, "or of another run");
  }
  SECTION("a line that names more than any file has") {
    Described forged = first;
    forged.bytes = ~std::uint64_t{0} - 3;
    refused(forged, "is cut off");
    forged.bytes = std::uint64_t{1} << 62;
    refused(forged, "is cut off");
  }
}

TEST_CASE("values that do not match their facts are refused") {
  const std::vector<FileEntry> files = {file_of(0, 1)};
  const std::vector<FileEntry> facts = files_from_facts(facts_of(files));
  const std::string values = values_of(files);
  CHECK(as_json(with_values(facts, values)) == as_json(files));
  CHECK_THROWS_AS(with_values(facts, values + "x"), Error);
  CHECK_THROWS_AS(with_values(facts, values.substr(0, values.size() - 1)), Error);
  CHECK_THROWS_AS(with_values({}, values), Error);
  CHECK_THROWS_AS(with_values(facts, "{}"), Error);
  CHECK_THROWS_AS(with_values(facts, "{}\n"), Error);
  CHECK_THROWS_AS(with_values(facts, "\n"), Error);
  CHECK_THROWS_AS(files_from_facts(std::string(100'000, '[')), Error);
  CHECK_THROWS_AS(files_from_facts("[{\"server\":0}]"), Error);
}

TEST_CASE("a report is its message, and a cut message is refused") {
  std::string facts;
  StepEntry record;
  record.step = 4;
  record.servers = {1};
  record.warnings = {"late"};
  record.files = {file_of(1, 4)};
  const std::string message = to_message(report_of(record, 1, false, facts));
  CHECK(record.files.size() == 1);
  CHECK(is_report(message));
  const ServerReport report = report_from(1, message);
  CHECK(report.step.step == 4);
  CHECK(report.step.warnings == record.warnings);
  CHECK(report.files.total.datasets == 2);
  CHECK(report.files.total.stored_bytes == record.files[0].bytes);
  CHECK(as_json(with_values(files_from_facts(report.files.facts), report.files.values)) == as_json(record.files));
  CHECK(report_of(record, 1, false, facts).files.facts.empty());  // once is enough
  CHECK_THROWS_AS(report_from(1, message.substr(0, message.size() - 1)), Error);
}

}  // namespace
}  // namespace damaris::test
