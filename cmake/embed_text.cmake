# Run by damaris_embed at build time: TEXT_FILE becomes OUT.hpp and OUT.cpp with the string SYMBOL.
file(READ "${TEXT_FILE}" text)
get_filename_component(source "${TEXT_FILE}" NAME)

file(WRITE "${OUT}.hpp" "// The text of ${source}, made by the build.
#pragma once
#include <string_view>
namespace damaris::embedded {
extern const std::string_view ${SYMBOL};
}
")
file(WRITE "${OUT}.cpp" "#include \"embedded/${SYMBOL}.hpp\"
namespace damaris::embedded {
constexpr std::string_view kText = R\"damaris_text(${text})damaris_text\";
const std::string_view ${SYMBOL} = kText;
}
")
