/* English glosses of the Chinese words of the grammar. */

const PAIRS = `貓 cat|老鼠 mouse|狗 dog|鳥 bird|狐狸 fox|母雞 hen|狼 wolf|小羊 lamb|貓頭鷹 owl|青蛙 frog|老鷹 hawk|兔子 rabbit|男孩 boy|女孩 girl
鎚子 hammer|畫 paint / painting|追 chased|餵 fed|怕 feared|背 carried|跟著 followed|幫助 helped|餓了 hungry|很快 fast|生氣了 angry
害怕了 scared|很慢 slow|很好吃 tasty|很善良 kind|很富有 rich|很瘦 thin|很小 small|很弱 weak|很大 big|很強壯 strong|累了 tired
很好奇 curious|迷路了 lost|一隻 a|一個 a|一把 a|一幅 a|這隻 this|這個 this|這把 this|這幅 this|我的 my|老 old|舊 old|因為 because|它 it
我 I|我們 we|他們 they|看見 saw|找到 found|買了 bought|用了 used`;

export const GLOSSES = new Map(
  PAIRS.split(/[|\n]/).map((pair) => [pair.slice(0, pair.indexOf(" ")), pair.slice(pair.indexOf(" ") + 1)]),
);
