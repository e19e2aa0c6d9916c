"""Questions as people ask them, each with the lessons that answer it, and questions that no course answers.

Written from the lessons alone, before anything was searched for, and not changed by what was found.
"""

from msgspec import Struct

BREAD = "Baking Bread at Home"
BOTS = "Chatbots That Look Things Up"
DATABASES = "Talking to Databases"
NETWORKS = "How networks find things"
GARDEN = "A Garden on the Balcony"
GIT = "Git from the start"
STATISTICS = "Statistics without Fear"
SKY = "Reading the night sky"


class Asked(Struct, frozen=True):
    """A question, and the lessons that answer it, each as its course and number."""

    text: str
    lessons: tuple[tuple[str, int], ...]


_BREAD = (
    Asked("Why did my dough go stretchy when I just left it in the bowl and never touched it?", ((BREAD, 0),)),
    Asked("what does hydration mean in a recipe and how do I work it out", ((BREAD, 0),)),
    Asked("autolyse", ((BREAD, 0),)),
    Asked("Do I need a special kind of flour or is the ordinary one from the supermarket good enough?", ((BREAD, 0),)),
    Asked("Can I measure with cups instead of kitchen scales?", ((BREAD, 0),)),
    Asked("why salt?", ((BREAD, 1),)),
    Asked("The recipe wants a cube of fresh yeast but I've only got sachets of instant, how much do I take?", ((BREAD, 1),)),
    Asked("at what temprature does yeast die", ((BREAD, 1), (BREAD, 5))),
    Asked("Do I have to put in sugar so that it rises?", ((BREAD, 1),)),
    Asked("How warm should the water be that I pour in?", ((BREAD, 1),)),
    Asked("My hands are covered in goo and it clings to everything, should I just throw in more flour?", ((BREAD, 2),)),
    Asked("windowpane test", ((BREAD, 2),)),
    Asked("When does the butter go into a brioche?", ((BREAD, 2),)),
    Asked("Can a machine ruin it by mixing for too long?", ((BREAD, 2),)),
    Asked("How often do I stretch and fold, and how long do I wait in between?", ((BREAD, 2), (BREAD, 6))),
    Asked("My round loaf flows apart into a pancake although I worked it properly, what am I missing?", ((BREAD, 3), (BREAD, 4))),
    Asked("How do I stop it sticking to the proving basket?", ((BREAD, 3),)),
    Asked("what's a banneton and what if I don't own one", ((BREAD, 3),)),
    Asked("Why do bakers slash the top with a razor?", ((BREAD, 3),)),
    Asked("How much dough goes into a two-pound tin?", ((BREAD, 3),)),
    Asked("How can I tell whether it has risen enough before it goes into the oven?", ((BREAD, 4),)),
    Asked("I overslept and it has been rising for far too long, can it still be saved?", ((BREAD, 4),)),
    Asked("Can I leave it in the refrigerator overnight and bake before breakfast?", ((BREAD, 4), (BREAD, 6))),
    Asked("my kitchen is cold, only 17 degrees, how much longer will the first rise take", ((BREAD, 4),)),
    Asked("Inside it's dense with a couple of huge holes, what happened?", ((BREAD, 4),)),
    Asked(
        "So I've been trying to bake on weekends, and last Sunday I put the shaped loaf on top of the radiator because somebody "
        "told me that warm is good, and then the outside was dry and the middle hadn't moved at all. Is there a better "
        "spot in a flat?",
        ((BREAD, 4),),
    ),
    Asked("My loaf has a pale soft crust, what went wrong?", ((BREAD, 5), (BREAD, 4))),
    Asked("How do I get a shiny crust that crackles in an ordinary oven?", ((BREAD, 5),)),
    Asked("how do i know its baked through without cutting it open", ((BREAD, 5),)),
    Asked("Why shouldn't I slice it while it's still hot?", ((BREAD, 5),)),
    Asked("Where should bread be kept so that it stays fresh?", ((BREAD, 5),)),
    Asked("My starter stank and bubbled on day 2 and now nothing happens any more, should I bin it?", ((BREAD, 6),)),
    Asked("grey water on top of the starter", ((BREAD, 6),)),
    Asked("How do I make my sourdough taste less like vinegar?", ((BREAD, 6),)),
    Asked("Why is rye bread nearly always made with sourdough?", ((BREAD, 6),)),
    Asked("how often do I feed the jar when it lives in the fridge", ((BREAD, 6),)),
)

_BOTS = (
    Asked("Why do chatbots invent facts with such confidence?", ((BOTS, 0),)),
    Asked("what is a token", ((BOTS, 0),)),
    Asked("Why can't I simply paste all of my documents into the prompt?", ((BOTS, 0),)),
    Asked("Does a temperature of zero stop it from saying wrong things?", ((BOTS, 0),)),
    Asked(
        "We're building a helper for our company handbook, and a colleague says just let the model answer, it has read the whole "
        "internet, but yesterday it told a customer opening hours that don't exist. What is going on there, and what can we do?",
        ((BOTS, 0),),
    ),
    Asked("How can something that only produces text look into a database?", ((BOTS, 1),)),
    Asked("What do I have to tell the model about a function so that it uses it well?", ((BOTS, 1),)),
    Asked("How many rounds should I allow before it has to answer?", ((BOTS, 1),)),
    Asked("The model asked for a course that isn't there. What should my code send back?", ((BOTS, 1),)),
    Asked("why is my filter for chapter 0 ignored", ((BOTS, 1),)),
    Asked("How big should the chunks be?", ((BOTS, 2),)),
    Asked("Is it bad if neighbouring pieces have some sentences in common?", ((BOTS, 2),)),
    Asked("How do I avoid indexing everything again when a single file was edited?", ((BOTS, 2),)),
    Asked("splitting at every dot breaks on things like Dr. and 3.14, whats the right way", ((BOTS, 2),)),
    Asked("What is BM25?", ((BOTS, 3),)),
    Asked("Why does a word that is in nearly every document count for so little?", ((BOTS, 3),)),
    Asked("inverted index explained please", ((BOTS, 3),)),
    Asked("Does it help to repeat a keyword fifty times on the page?", ((BOTS, 3),)),
    Asked("How does a computer notice that two sentences mean the same in different words?", ((BOTS, 4), (DATABASES, 5))),
    Asked("cosine similarity formula", ((BOTS, 4),)),
    Asked("Can I swap the embedding model without redoing everything?", ((BOTS, 4),)),
    Asked("how much memory do a hundred thousand embeddings need", ((BOTS, 4),)),
    Asked("Why does semantic search mix up serial numbers, and phrases with and without 'not'?", ((BOTS, 4),)),
    Asked("what does RAG stand for", ((BOTS, 5),)),
    Asked(
        "I've got one list from keyword search and another one from vectors, how do I make one of them?",
        ((BOTS, 5), (DATABASES, 5)),
    ),
    Asked("A page I retrieved says 'ignore all previous instructions', is that dangerous?", ((BOTS, 5),)),
    Asked("Why should the bot be allowed to say it doesn't know?", ((BOTS, 5),)),
    Asked("Should the program look something up for every message, or let the model decide?", ((BOTS, 5),)),
    Asked("How do I find out whether my change really made the bot better?", ((BOTS, 6),)),
    Asked("recall@5", ((BOTS, 6),)),
    Asked("Can another LLM grade the answers for me?", ((BOTS, 6),)),
    Asked("We went from 0.90 to 0.92 on our hundred questions, is that a real improvment?", ((BOTS, 6),)),
)

_DATABASES = (
    Asked("Why not just keep everything in a spreadsheet?", ((DATABASES, 0),)),
    Asked("Is an email address a good primary key?", ((DATABASES, 0),)),
    Asked("Which type should I use for prices?", ((DATABASES, 0),)),
    Asked("foreign key constraint failed - what does it want from me", ((DATABASES, 0),)),
    Asked("One order has several products and one product is in several orders, how do I model that?", ((DATABASES, 0),)),
    Asked("WHERE price = NULL gives me no rows", ((DATABASES, 1),)),
    Asked("difference between WHERE and HAVING", ((DATABASES, 1),)),
    Asked("How do I protect my site from people who type code into the login form?", ((DATABASES, 1),)),
    Asked("Why do my results come in another order since last week?", ((DATABASES, 1),)),
    Asked("in which order does the databse carry out the parts of a query", ((DATABASES, 1),)),
    Asked("How can I find the people who don't own any bike?", ((DATABASES, 2),)),
    Asked("My query returns millions of rows since I put two tables together, help", ((DATABASES, 2),)),
    Asked("left join vs inner join", ((DATABASES, 2),)),
    Asked("The total comes out several times too high when payments and pictures are in the same query", ((DATABASES, 2),)),
    Asked(
        "I have a web shop, and when I list customers with the number of their orders, using left join and group by and "
        "count star, people who never ordered anything show up with a 1. Where is my mistake?",
        ((DATABASES, 2),),
    ),
    Asked("Looking things up in a big table takes forever, what can I do?", ((DATABASES, 3),)),
    Asked("Does the order of the columns in an index matter?", ((DATABASES, 3),)),
    Asked("why not put an index on every column", ((DATABASES, 3),)),
    Asked("How do I see whether the database uses my index?", ((DATABASES, 3),)),
    Asked("what's a B-tree", ((DATABASES, 3),)),
    Asked("The electricity failed half way through a payment, how do I make sure that no money disappears?", ((DATABASES, 4),)),
    Asked("ACID", ((DATABASES, 4),)),
    Asked("Two people bought the last item at the same moment, how do I avoid that?", ((DATABASES, 4),)),
    Asked("what is a deadlock and how can i prevent it", ((DATABASES, 4),)),
    Asked("Why is it so slow to insert thousands of rows one by one?", ((DATABASES, 4),)),
    Asked("How do I do full-text search in SQLite?", ((DATABASES, 5),)),
    Asked("pgvector", ((DATABASES, 5),)),
    Asked("My search box finds nothing unless people type the exact phrase that was written down", ((DATABASES, 5),)),
    Asked("Should I take IVFFlat or HNSW?", ((DATABASES, 5),)),
    Asked("why are the rank values negative", ((DATABASES, 5),)),
)

_NETWORKS = (
    Asked("Why did we run out of internet addresses?", ((NETWORKS, 0),)),
    Asked("How come my laptop is 192.168.1.5 like everybody else's and still gets online?", ((NETWORKS, 0),)),
    Asked("what does the /24 at the end mean", ((NETWORKS, 0),)),
    Asked("Who tells my phone its number when it joins the wifi?", ((NETWORKS, 0),)),
    Asked("IP address vs MAC address", ((NETWORKS, 0),)),
    Asked("How does my browser find out which machine belongs to a name?", ((NETWORKS, 1),)),
    Asked("I've moved my domain to a new server, and some people still land on the old one", ((NETWORKS, 1),)),
    Asked("MX record", ((NETWORKS, 1),)),
    Asked("Can my provider see which sites' names I look up, and can I hide that?", ((NETWORKS, 1),)),
    Asked("How does a packet get there if nobody has a map of the whole internet?", ((NETWORKS, 2),)),
    Asked("how does traceroute work", ((NETWORKS, 2),)),
    Asked("Two entries of the table match, which one does the router take?", ((NETWORKS, 2),)),
    Asked("How could one company in Asia knock a video site offline all over the world?", ((NETWORKS, 2),)),
    Asked("What is BGP for?", ((NETWORKS, 2),)),
    Asked("Why do video calls not use TCP?", ((NETWORKS, 3),)),
    Asked("three way handshake", ((NETWORKS, 3),)),
    Asked("How does the sender notice that something got lost on the way, and what does it do then?", ((NETWORKS, 3),)),
    Asked("whats a port number", ((NETWORKS, 3),)),
    Asked("How do computers avoid flooding a busy line?", ((NETWORKS, 3),)),
    Asked("Which error says that I've asked too often?", ((NETWORKS, 4),)),
    Asked("difference between 401 and 403", ((NETWORKS, 4),)),
    Asked("My shop charged a customer twice after a timeout, may the request simply be sent again?", ((NETWORKS, 4),)),
    Asked("How does a website remember that I'm logged in?", ((NETWORKS, 4),)),
    Asked("Can somebody in the same café read which pages I open when there's a padlock?", ((NETWORKS, 4),)),
    Asked("Visitors still see my old stylesheet after I've changed it", ((NETWORKS, 5),)),
    Asked("no-cache vs no-store", ((NETWORKS, 5),)),
    Asked(
        "Our site is on a server in Norway and our users in Kenya complain that everything takes ages; somebody said the word "
        "CDN in a meeting and everyone nodded. What does that do exactly?",
        ((NETWORKS, 5),),
    ),
    Asked("thundering herd", ((NETWORKS, 5),)),
    Asked("What is thrown out first when there's no room for more copies?", ((NETWORKS, 5),)),
)

_GARDEN = (
    Asked("What can I grow if my windows face north?", ((GARDEN, 1),)),
    Asked("how many hours of sun do tomatos need", ((GARDEN, 1),)),
    Asked("I live on the eighth floor and it blows terribly up here, what can I do?", ((GARDEN, 1),)),
    Asked("It's rather dark out there, is there a trick to make it brighter?", ((GARDEN, 1),)),
    Asked("Should I put gravel at the bottom of the pot?", ((GARDEN, 2),)),
    Asked("How big a container does a courgette need?", ((GARDEN, 2),)),
    Asked("Will it break under the weight of all those planters?", ((GARDEN, 2),)),
    Asked("what do the three numbers on the plant food mean", ((GARDEN, 2),)),
    Asked("can i reuse last years soil", ((GARDEN, 2),)),
    Asked("How do I tell whether a drooping plant is thirsty or drowned?", ((GARDEN, 3),)),
    Asked("I'm away for a week in July, how do the plants survive?", ((GARDEN, 3),)),
    Asked("The water runs straight through the pot and out at the bottom", ((GARDEN, 3),)),
    Asked("Blueberry leaves are yellow but the veins aren't", ((GARDEN, 3),)),
    Asked("What time of day should I water?", ((GARDEN, 3),)),
    Asked("Why do herbs from the supermarket always die within a week?", ((GARDEN, 4),)),
    Asked("There are dark sunken spots on the underside of my tomatoes", ((GARDEN, 4),)),
    Asked("Do I have to remove the little shoots between stem and leaf?", ((GARDEN, 4),)),
    Asked("When can the seedlings move outside?", ((GARDEN, 4),)),
    Asked("how to harvest basil so that it gets bushy", ((GARDEN, 4),)),
    Asked("How do I get rid of greenfly without poison?", ((GARDEN, 5),)),
    Asked("white powder on the leaves", ((GARDEN, 5),)),
    Asked("tiny black flies come up whenever I touch the pot", ((GARDEN, 5),)),
    Asked("My rosemary looked fine until January and then it dried up, in the snow! Why?", ((GARDEN, 5),)),
    Asked("What can I still sow when summer ends?", ((GARDEN, 5),)),
    Asked(
        "I bought a lemon tree in June, it's in a lovely pot and it's getting cold now; we've got a heated living room and an "
        "unheated stairwell with a big window. Where should it spend the winter?",
        ((GARDEN, 5),),
    ),
)

_GIT = (
    Asked("Who invented Git, and why?", ((GIT, 0),)),
    Asked("Doesn't it fill up the disk to keep a full picture every time?", ((GIT, 0),)),
    Asked("blob, tree, commit?", ((GIT, 0),)),
    Asked("Do I need an internet connection to save my work?", ((GIT, 0),)),
    Asked("what's in the .git folder", ((GIT, 0),)),
    Asked("I changed the file again after adding it, and half of my changes are missing from the commit", ((GIT, 1),)),
    Asked("How do I keep passwords and build output out of the repository?", ((GIT, 1),)),
    Asked("how should a good commit message look", ((GIT, 1),)),
    Asked("git diff --staged", ((GIT, 1),)),
    Asked(
        "okay so i was working on two things at once, a bug and some spelling stuff in the same file, and my boss wants a separate "
        "commit for each, is there any way or do I have to undo one of them by hand first",
        ((GIT, 1),),
    ),
    Asked("What is a branch, really?", ((GIT, 2),)),
    Asked("detached HEAD, did I break something?", ((GIT, 2),)),
    Asked("git checkout or git switch?", ((GIT, 2),)),
    Asked("How do I delete a branch without losing work?", ((GIT, 2),)),
    Asked("Show the history as a picture in the terminal", ((GIT, 2),)),
    Asked("What are these <<<<<<< and >>>>>>> lines in my file?", ((GIT, 3),)),
    Asked("merge or rebase", ((GIT, 3),)),
    Asked("There was no conflict at all, and still nothing works after we joined our changes", ((GIT, 3),)),
    Asked("I got scared in the middle of a merge, how do I go back?", ((GIT, 3),)),
    Asked("what is a fast forward", ((GIT, 3),)),
    Asked("Help, I ran reset --hard and my commit is gone!!", ((GIT, 4),)),
    Asked("How do I correct a typo in my last commit?", ((GIT, 4),)),
    Asked("Everyone already has my broken commit. How do I take it back properly?", ((GIT, 4),)),
    Asked("I need to do something else quickly but what I'm doing isn't finished", ((GIT, 4),)),
    Asked("I accidentally commited a password", ((GIT, 4),)),
    Asked("My push was rejected, why?", ((GIT, 5),)),
    Asked("What's the difference between fetch and pull?", ((GIT, 5),)),
    Asked("Is force pushing ever okay?", ((GIT, 5),)),
    Asked("What does origin mean?", ((GIT, 5),)),
    Asked("If the hosting company burned down, would my project be gone?", ((GIT, 5),)),
    Asked("It worked last month and now it's broken, and there are hundreds of commits in between", ((GIT, 6),)),
    Asked("git blame", ((GIT, 6),)),
    Asked("Can the hunt for the guilty change run by itself overnight?", ((GIT, 6),)),
    Asked("how many steps does bisect need for 1000 comits", ((GIT, 6),)),
)

_STATISTICS = (
    Asked("Why is the average salary so much higher than what most people earn?", ((STATISTICS, 0),)),
    Asked("median or mean?", ((STATISTICS, 0),)),
    Asked("I go there at 10 km/h and come back at 30, so why isn't my average speed 20?", ((STATISTICS, 0),)),
    Asked("How do I find the middle one when there's an even number of values?", ((STATISTICS, 0),)),
    Asked("standard deviation in simple words", ((STATISTICS, 1),)),
    Asked("Why divide by n minus one?", ((STATISTICS, 1),)),
    Asked("How do I describe scatter when the data are badly skewed?", ((STATISTICS, 1),)),
    Asked("what share of men is taller than 1.92 m", ((STATISTICS, 1),)),
    Asked("How many guests does a party need until two of them were probably born on the same day?", ((STATISTICS, 2),)),
    Asked("My test came back positive, how likely is it that I'm really ill?", ((STATISTICS, 2),)),
    Asked("Red came up five times in a row, so black must be next, right?", ((STATISTICS, 2),)),
    Asked("chance of at least one six in four throws", ((STATISTICS, 2),)),
    Asked("Is it worth buying a lottery ticket?", ((STATISTICS, 2),)),
    Asked("How many people do I have to ask in a survey?", ((STATISTICS, 3),)),
    Asked("Why did a poll with millions of replies get the election wrong?", ((STATISTICS, 3),)),
    Asked("confidence interval", ((STATISTICS, 3),)),
    Asked("The newspaper says plus or minus three points, where does that come from?", ((STATISTICS, 3),)),
    Asked("Does a bigger country need a bigger sample?", ((STATISTICS, 3),)),
    Asked("More people drown when more ice cream is sold, so is it dangerous?", ((STATISTICS, 4),)),
    Asked("pearson r", ((STATISTICS, 4),)),
    Asked("How can I prove that one thing really leads to another?", ((STATISTICS, 4),)),
    Asked("Can two things be closely related although the coefficient is 0?", ((STATISTICS, 4),)),
    Asked("What does a p-value of 0.05 really say?", ((STATISTICS, 5),)),
    Asked("60 heads out of 100, is the coin rigged?", ((STATISTICS, 5),)),
    Asked("If I try out enough pills, one of them will look as if it helped, right?", ((STATISTICS, 5),)),
    Asked("type 1 and type 2 error", ((STATISTICS, 5),)),
    Asked("Is there a way to compare two groups without any formulas?", ((STATISTICS, 5),)),
)

_SKY = (
    Asked("I'm lost in the woods at night, how do I know the direction without a compass?", ((SKY, 1),)),
    Asked("Is the pole star the brightest one?", ((SKY, 1),)),
    Asked("How do I measure angles up there with my hand?", ((SKY, 1),)),
    Asked("Which way is south if I'm in Australia looking at the stars?", ((SKY, 1),)),
    Asked("why a red torch", ((SKY, 1),)),
    Asked("Will the North Star be the same one for ever?", ((SKY, 1),)),
    Asked("Why does the moon change its shape?", ((SKY, 2),)),
    Asked("When does the full moon come up?", ((SKY, 2),)),
    Asked("why isnt there an eclipse every month", ((SKY, 2),)),
    Asked("Half of it is lit. How can I see whether it's getting fuller or thinner?", ((SKY, 2),)),
    Asked("What is earthshine?", ((SKY, 2),)),
    Asked("How do I tell a planet from a star?", ((SKY, 3),)),
    Asked("Why can't I ever see Venus in the middle of the night?", ((SKY, 3),)),
    Asked("retrograde", ((SKY, 3),)),
    Asked("What can I see of Jupiter with binoculars?", ((SKY, 3),)),
    Asked(
        "Yesterday shortly after sunset I saw a very bright light in the west, it didn't flicker at all, and my son says that "
        "it was an aeroplane, but it was still there half an hour later. What could it have been?",
        ((SKY, 3),),
    ),
    Asked("Why is Orion not there in summer?", ((SKY, 4),)),
    Asked("best night for shooting stars?", ((SKY, 4),)),
    Asked("Which star shines brightest of all, and how do I find it?", ((SKY, 4),)),
    Asked("Why are some stars reddish and others blue?", ((SKY, 4),)),
    Asked("farthest thing I can see without a telescope", ((SKY, 4),)),
)

ANSWERED = (*_BREAD, *_BOTS, *_DATABASES, *_NETWORKS, *_GARDEN, *_GIT, *_STATISTICS, *_SKY)

NOT_ANSWERED = (
    "How do I change the oil of a car?",
    "What is the capital of Mongolia?",
    "How do I make a chocolate cake with almonds?",
    "Which branch of my bank is open on Saturdays?",
    "Who won the football world cup in 2014?",
    "How do I knit a scarf?",
    "What are the side effects of ibuprofen?",
    "Help me with a cover letter for a job application",
    "Best hotel in Lisbon near the beach",
    "How do I train a puppy to walk on a lead?",
    "How do I tune a guitar?",
    "What happens at the end of Hamlet?",
    "Explain the offside rule to me",
    "When do I have to hand in my tax return?",
    "how to get red wine out of a carpet",
    "How do I descale a coffee machine?",
    "French verbs in the past tense",
    "How long does it take to get a visa for Japan?",
    "Which lawyers do I need to merge two companies?",
    "Who directed the first Star Wars film?",
    "What should I feed my hamster?",
    "In which key is Beethoven's fifth?",
    "What is the average rainfall in Brazil?",
    "How do I connect a game controller to my television?",
    "How do I write a loop in JavaScript?",
)
