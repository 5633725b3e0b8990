// In place of the theme's script of this name, which fails where no code is coloured: dark for who prefers that.
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.setAttribute("data-bs-theme", prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", follow);
follow();
