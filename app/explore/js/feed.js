// The connection to the server that pushes new data. It is opened again after a loss, and ends with the page.
const FIRST_WAIT = 500, LONGEST_WAIT = 8000; // milliseconds before another attempt

// onMessage gets each message; isWanted says whether somebody still looks.
export function openFeed(path, { onMessage, onConnection, isWanted }) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  let wait = FIRST_WAIT, socket = null, hasEnded = false;
  const connect = () => {
    if (hasEnded || !isWanted()) return;
    socket = new WebSocket(`${scheme}//${location.host}${path}`);
    socket.onopen = () => {
      wait = FIRST_WAIT;
      onConnection(true);
    };
    socket.onmessage = ({ data }) => (isWanted() ? onMessage(JSON.parse(data)) : socket.close());
    socket.onclose = () => {
      if (hasEnded || !isWanted()) return;
      onConnection(false);
      setTimeout(connect, wait);
      wait = Math.min(LONGEST_WAIT, 2 * wait);
    };
  };
  connect();
  return () => {
    hasEnded = true;
    socket?.close();
  };
}
