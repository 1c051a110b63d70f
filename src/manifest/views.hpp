// The interface between the writer of the manifest and a storage's views, which show a run as a whole and follow its manifest. A
// view combines only variables that all runs declare alike.
// Used by: the writer, on the server's work thread.
// Before it: the XML; a new line of the manifest. After it: the storage's views, such as the master file.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <memory>
#include <string>

#include "entries.hpp"

namespace damaris::manifest {

// For example "float64 in K", "{x: float64, n: int32[3]}".
std::string declared_as(const dc_variable_info_t& variable);

std::shared_ptr<const Declarations> declarations_of(const dc_host_t& host);

// Records a new view in the manifest, and then puts it in place.
using RecordView = std::function<void(const ViewEntry&, std::uint64_t shown, const std::function<void()>& put_in_place)>;

class Views {
 public:
  enum class Work { none, more, later };

  virtual ~Views() = default;
  // Lines were added to the manifest.
  virtual void manifest_changed() = 0;
  // Performs a piece of background work; `later`: there is more, but it would take too much of the server's time now.
  virtual Work work() = 0;
  // This server's last update. Throws damaris::Error(DC_E_IO); the previous views stay.
  virtual void finish() = 0;
};

}  // namespace damaris::manifest
