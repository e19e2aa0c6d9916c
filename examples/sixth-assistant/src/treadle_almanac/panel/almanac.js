// Asks for the day that is chosen, and shows what comes.

const day = document.getElementById("day");

async function lookUp() {
  const response = await fetch(`/api/almanac/${day.value}`);
  const answer = await response.json();
  document.getElementById("moon").textContent = response.ok ? `Moon: ${answer.moon}` : answer.error;
  document.getElementById("sun").textContent = response.ok ? `Sun at Greenwich: ${answer.sun}` : "";
}

document.getElementById("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  lookUp();
});
day.value = new Date().toISOString().slice(0, 10);
lookUp();
