// The version of the compiled model's text: raised with every change, so that a reader refuses a text of another version.
// Used by: json_write and json_read only.
// Before it: the model. After it: the region's text.
#pragma once

namespace damaris::model {
constexpr int kJsonVersion = 8;
}
