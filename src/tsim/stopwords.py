"""Words that say nothing about what a text is about: articles, pronouns, question words.

All other words are weighted by rarity. In a short thread the question words of a language are as
rare as names, because people tell more than they ask, so they have to be known. Words of other
languages that are also English words ("die", "war", "son") are left to their rarity.
"""

ENGLISH = (
    "a an and are as at be been but by can did do does for from had has have he her him his how i "
    "if in is it its me my no not of on or our she should so that the their them then there these "
    "they this to us was we were what when where which who will with would you your"
)
GERMAN = (
    "der das dem ein eine einen einem einer eines und oder aber ist sind bist habe haben hatte "
    "hatten wird werden wurde wurden wir uns unser unsere unserem unseren unserer ich mir mich "
    "mein meine meinen meinem meiner meines dir dich sie ihr ihm ihn ihre nicht kein keine auf "
    "aus bei nach vor zu zum zur für über durch wer wie wo wann warum welche welcher welches "
    "welchen welchem wem wen wessen womit wofür woher wohin wobei dass auch noch nur schon wenn "
    "eigentlich"
)
FRENCH = (
    "une ou où sont suis avons ont était étaient je il elle nous vous ils elles moi ma mes tes sa "
    "ses notre nos votre vos leur leurs ce cet cette ces ne pas que qui quoi quel quelle quels "
    "quelles quand pourquoi combien dans avec sous par aux qu'est-ce est-ce"
)
SPANISH = (
    "una unos unas pero eres somos era fue hemos tú él ella ellos nosotros mis su sus nuestro "
    "nuestra nuestros nuestras del al por sin que qué quién quiénes quien cuál cuáles cuándo cómo "
    "dónde cuánto cuánta cuántos cuántas lo"
)
PORTUGUESE = (
    "uma uns umas ou mas é são sou era foi ele ela eles elas nós meu minha meus minhas seu sua "
    "seus suas nosso nossa nossos nossas das nos ao à em por sem que quem qual quais quando como "
    "onde quanto quanta quantos quantas"
)
RUSSIAN = (
    "и а но или что кто где когда как какой какая какое какие каком какую каким каких чей чья чьё "
    "почему зачем куда откуда сколько чем чего кого кому кем я мы ты вы он она оно они мне меня "
    "мной мой моя моё мои моего моей моему моим моих мою нам нас наш наша наше наши нашего нашей "
    "у в во на с со к ко о об от до из за по под при для не ни же ли бы это этот эта эти тот то "
    "был была было были есть"
)
ARABIC = (
    "من ما ماذا متى اين كيف لماذا هل اي كم في علي الي عن مع هو هي انا نحن انت هذا هذه ذلك التي "
    "الذي كان كانت لي لا لم ان او ثم قد"
)
HINDI = (
    "का की के को में से पर ने है हैं हूँ था थी थे और या तो भी ही मैं मैंने मेरा मेरी मेरे मुझे हम "
    "हमने हमारा हमारी हमारे हमें वह यह वे ये किस किसका किसकी किसके किसने किसे कौन क्या कब कहाँ "
    "क्यों कैसे कितना कितनी कितने कर रहा रही रहे जो न नहीं एक"
)
TURKISH = (
    "ve veya bir şu ne kim nerede nereye nereden nasıl neden niçin kaç hangi benim bana beni "
    "bende biz bize bizim için ile mı mü"
)
KOREAN = (
    "나 나는 내 내가 나의 나를 저 저는 제 제가 우리 우리는 우리의 우리를 무엇 무엇을 뭐 뭐였지 "
    "뭐지 뭐야 무슨 누구 누가 누구야 누구를 어디 어디서 어디에 어디에서 어느 어떤 언제 언제야 왜 "
    "어떻게 몇 얼마 이 그 있어 있지 했지 했어"
)
OTHERS = (GERMAN, FRENCH, SPANISH, PORTUGUESE, RUSSIAN, ARABIC, HINDI, TURKISH, KOREAN)
STOP = frozenset(" ".join((ENGLISH, *OTHERS)).split())
# Words by which English is recognised: common there, and no words of the languages above.
ENGLISH_ALONE = frozenset(
    "and are been did from have him his how its my our she should that the their them then there "
    "these they this to were what what's when where which who whom whose why with would you".split()
)
