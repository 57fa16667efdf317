"""Three letters in a row that are common in English words.

A word made of these is a single token for most tokenizers; what is not is cut into more. `^` and
`$` stand for the beginning and the end of a word. They are the thousand most frequent in the texts
of the benchmark, a word that occurs n times counting √n times.
"""

_JOINED = (
    "^a$^ab^ac^ad^af^ag^al^am^an^ap^ar^as^at^au^ba^be^bi^bl^bo^br^bu^ca^ce^ch^cl^co^cr^cu^da^de"
    "^di^do^dr^du^ea^el^em^en^ev^ex^fa^fe^fi^fl^fo^fr^fu^ga^ge^gi^gl^go^gr^gu^ha^he^hi^ho^hu^i$"
    "^im^in^is^it^ja^jo^ju^ke^ki^kn^la^le^li^lo^lu^ma^me^mi^mo^mu^my^na^ne^ni^no^nu^of^on^op^or"
    "^ou^ov^ow^pa^pe^ph^pi^pl^po^pr^pu^qu^ra^re^ri^ro^ru^s$^sa^sc^se^sh^si^sk^sl^sm^so^sp^st^su"
    "^sw^ta^te^th^ti^to^tr^tu^tw^un^up^us^va^ve^vi^vo^wa^we^wh^wi^wo^wr^ye^yoablaboaccaceachack"
    "actad$addadeadiaftageaidailainairakeal$alealialkallalsaltam$ameamiampan$anaancandaneangani"
    "ankannansantanyap$apeappar$araarcardareargariarkarlarmarnarrarsartaryas$aseashasiaskassast"
    "at$atcateathatiatoatsattatuaugausaveaviay$aysbacbanbarbasbatbe$beabelberbitbleboabodboobor"
    "boubrabrebribrobutby$calcancarcascatce$celcencercesch$chachechichock$ckecksclaclecliclocol"
    "comconcorcoucracrecricroct$ctictocurcusdatdayde$deadecdeddeldenderdesdgedindisditdledo$don"
    "dowdradredridrods$ducdy$ea$eaceadeakealeameaneareaseateaveceecieckecoected$ediee$eedeekeel"
    "eeneepeeteigel$elaeldeleelfeliellelselyem$emaembemeemoempen$encendeneengeniensentep$epaepo"
    "epter$eraereergeriermernerrerserterveryes$eseesiessestet$eteethetietretsetteveeview$expext"
    "ey$feeferff$ffeficfilfinfirflafloforfoufrefrifroft$ftefulgarge$gedgengergesgetgh$ghtgingra"
    "gregrogs$guehalhanhapharhashathavhe$heahedheehelhemhenherheshichilhinhiphirhisholhonhoohop"
    "horhoshothouhowht$ialianic$icaiceichickictid$ideie$iedienieriesiffiftighignikeil$ildileili"
    "illim$imein$inaincindineinginiinkinninsintionip$ippir$ireirsis$iseishisiissistit$itaiteith"
    "itiitsittityiveivike$kedkeekenkerkesketkinknoks$la$lacladlailanlarlaslatlayld$ldele$lealec"
    "ledlenlerlesletlf$liclieligliklinliplislitlivll$llallellillollsllyloalocloglonlooloslotlou"
    "lowls$lt$lumlvely$maimalmanmarmasmatmbeme$meamedmenmermesmetmilminmismitmmemodmonmormoump$"
    "mplms$na$nalnamnatncenchncind$ndandendindlndsne$nedneenelnernesnetnewng$ngengsnicnigninnis"
    "nitnk$nnennino$nornotnowns$nsensinstnt$ntantenthntintrntsnutny$oadoaroatockod$odeodyoesof$"
    "offoinok$okeol$oldoleoliolloloom$omeommompon$onaondoneongonionsontoodookooloomoonoorootop$"
    "opeoppor$ordoreorgoriorkormornorrorsortos$oseosiossostot$oteothottou$ougoulounourousoutove"
    "ow$oweownowspacpaipanparpaspatpaype$peapecpedpenperphopicpinplapleplipolporpospotppeprepri"
    "props$pt$ptiputquaquequira$racradrairalramranrapratrawrchrd$rderdirdsre$rearecredreerefreg"
    "relremrenrepresretrevrewrgeriaricridrierigrinriprisritrivrk$rm$rmarn$rnernirolromronroorop"
    "rosrotrourowrrerrirrorryrs$rserstrt$rterthrtirtsrunrverviry$salsansayscascrse$seasecsedsee"
    "selsensersessetsh$shasheshishosidsigsinsiositsk$slesliso$solsomsonsorsouspaspespisposs$sse"
    "ssist$stastestistostrstsstusumsunsupsursweta$tabtaitaktaltantartattchte$teatedteeteltemten"
    "tertesth$thathethithothrtictietiltimtintiotletlyto$tomtontootoptortratretritrotrutryts$tte"
    "ttittlturty$ualuaruchuctue$uesughuitul$ulauldullultum$umbumpuncunduntup$ur$ureuriurnursurt"
    "us$useustut$uteutsuttvalve$vedvelvenvervesvievinviswalwanwarwaswatwaywedweewelwerwhawhewhi"
    "whowinwitwn$worwriws$yinyouys$"
)
COMMON = frozenset(_JOINED[at : at + 3] for at in range(0, len(_JOINED), 3))
