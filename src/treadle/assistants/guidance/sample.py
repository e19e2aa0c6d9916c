"""The sample project: a town that wants its buses to be on time. Text only."""

SAMPLE_TITLE = "Buses on time"
SAMPLE_DESCRIPTION = "A town of 80,000 wants its eleven bus lines to be on time again, without raising fares."
SAMPLE_CONSTRAINTS = (
    ("Budget", "At most 400,000 a year more than today", 90),
    ("Fares", "Fares stay as they are", 100),
    ("Drivers' hours", "Nobody drives longer than the law allows", 100),
    ("Depot", "No new depot before 2029", 60),
)
SAMPLE_GOALS = ("Nine of ten buses arrive within three minutes of the timetable", "Passengers know when the next bus comes")
SAMPLE_WORLD = {
    "actors": (
        ("Passengers", "people", "31,000 a day, most of them between 7 and 9"),
        ("Drivers", "people", "140, of whom 12 are missing"),
        ("Town council", "body", "Decides on lanes and signals twice a year"),
    ),
    "mechanisms": (
        ("Bunching", "feedback", "A late bus meets more passengers, gets later, and the next one catches up"),
        ("Signal priority", "control", "Signals stay green for a bus that is late"),
    ),
    "resources": (
        ("Buses", "vehicles", "64, six of them in repair on an average day"),
        ("Drivers on duty", "staff", "128 a day"),
        ("Annual budget", "money", "11.2 million"),
        ("Bus lanes", "road", "4.5 km"),
    ),
    "constraints": (("Narrow old town", "road", "Two lines pass streets where no lane can be added"),),
    "assumptions": (("Demand", "", "The number of passengers stays within 5 % of today's"),),
    "simplifications": (("Weather", "", "Snow days are left out"),),
}
