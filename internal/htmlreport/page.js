document.documentElement.classList.add("js");
for (const slider of document.querySelectorAll(".slider input")) {
  const show = () => {
    slider.parentElement.style.setProperty("--at", slider.value + "%");
    slider.setAttribute("aria-valuetext", Math.round(slider.value) + " % " + slider.dataset.before + ", the rest " + slider.dataset.after);
  };
  slider.addEventListener("input", show);
  show();
}
