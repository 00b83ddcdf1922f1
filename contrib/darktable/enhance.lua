--[[
Develops the selected RAW photos with enhance and imports the results.

Copy this file to ~/.config/darktable/lua/ and add the line

  require "enhance"

to ~/.config/darktable/luarc. The button "enhance" then appears among the actions on selected
images, and the preferences (Lua options) have the program's path, its flags and the output's
kind. A photo IMG.dng becomes IMG_enhance.tif beside it, in a group with the photo. Photos whose
result exists are imported, not developed again.
]]

local dt = require "darktable"

local module = "enhance"

dt.preferences.register(module, "program", "file", "enhance: program", "the enhance program", "enhance")
dt.preferences.register(module, "flags", "string", "enhance: flags", "flags for every photo, such as --mem 1G", "")
dt.preferences.register(module, "kind", "enum", "enhance: kind of output",
  "tif: a picture of 16 bits; dng: a linear DNG to develop further; jpg: a finished picture", "tif", "tif", "dng", "jpg")

-- quoted makes one word of a text for a POSIX shell.
local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- output names the result of a photo.
local function output(image, kind)
  local stem = image.filename:gsub("%.[^.]*$", "")
  return image.path .. "/" .. stem .. "_enhance." .. kind
end

-- command is the command line for a photo.
local function command(image, result, kind)
  local words = { quoted(dt.preferences.read(module, "program", "file")),
    quoted(image.path .. "/" .. image.filename), "-o", quoted(result), "-q" }
  if kind == "tif" then words[#words + 1] = "-b 16" end
  local flags = dt.preferences.read(module, "flags", "string")
  if flags ~= "" then words[#words + 1] = flags end
  return table.concat(words, " ")
end

local function develop(_, images)
  local kind = dt.preferences.read(module, "kind", "enum")
  local job = dt.gui.create_job("enhance", true, function(job) job.valid = false end)
  local done, failed = 0, {}
  for i, image in ipairs(images) do
    if not job.valid then break end
    if image.is_raw or image.is_monochrome then
      local result = output(image, kind)
      if exists(result) or dt.control.execute(command(image, result, kind)) == 0 then
        local made = dt.database.import(result)
        made:group_with(image.group_leader)
        done = done + 1
      else
        failed[#failed + 1] = image.filename
      end
    end
    job.percent = i / #images
  end
  if job.valid then job.valid = false end
  local text = done .. " of " .. #images .. " photos developed by enhance"
  if #failed > 0 then text = text .. "; failed: " .. table.concat(failed, ", ") end
  dt.print(text)
end

dt.gui.libs.image.register_action(module, "enhance", develop, "develop the selected RAW photos with enhance")

return {}
