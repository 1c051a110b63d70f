// A shard of the manifest, open for appending: the descriptions of the files of one or more servers, which only the process that keeps it
// writes. A line of the manifest says where a step's description is.
// Used by: writer.hpp, on the server's work thread.
// Before it: encoded_files.hpp, and reports of other servers. After it: shard_reader.hpp.
// docs/file-format.md describes the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/own_file.hpp"
#include "entries.hpp"

namespace damaris::manifest {

// What one server reports of its files of a step, encoded.
struct ServerFiles {
  int server = 0;
  bool is_own = false;  // of the process that keeps the shard, which always has its facts
  std::string facts;    // "": those that it reported last
  std::string values;   // "": it has no files
  FilesTotal total;
};

class Shard {
 public:
  // `start`: path of the file without its letters. The file is created by the first append.
  explicit Shard(std::string start) : start_(std::move(start)) {}
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Appends what the servers report of one step; durable when it returns. Begins a new file if the last one was removed or moved. Throws
  // Failure; nothing of it counts then.
  Described append(const std::vector<ServerFiles>& step);
  // Whether what was appended is out of reach: the file was removed, cut or moved, for instance with its folder, or the program closed
  // its descriptor. Throws Failure while the file system does not say so.
  bool is_gone() const;
  // Whether `name` is that of a file that this object has begun.
  bool has_made(const std::string& name) const { return made_.count(name) > 0; }

 private:
  struct Facts {
    std::uint64_t at = 0, bytes = 0;  // of the frame with its header
    std::string text;                 // of this process's own server; else ""
  };

  struct Fresh;

  void begin();
  std::string carried_facts(std::map<int, Facts>& known, std::uint64_t at) const;
  void close();
  void write(const std::string& text);

  std::string start_, path_;
  int descriptor_ = -1;
  FileIdentity identity_;
  bool has_name_ = false;  // the path shows that file's device and inode number
  std::uint64_t end_ = 0;
  std::map<int, Facts> known_;  // by server
  std::set<std::string> made_;
};

}  // namespace damaris::manifest
