// Raft's leader election: a worker that speaks protosim's step protocol (docs/step-protocol.md), with names of its own.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class Election {
    static boolean forgetful;                                         // a bug: a vote is sent before it is durable
    final List<Object> effects = new ArrayList<>();
    final String me;
    final List<String> ids;
    final Set<String> votes = new HashSet<>();                        // volatile, like the role
    String role = "follower", vote;                                   // the vote is durable, like the term
    long term;

    Election(String me, List<String> ids, List<Object> disk) {        // START: with what a crash has left
        this.me = me; this.ids = ids;
        for (Object pair : disk.subList(1, disk.size())) {            // ["", name, content]
            List<Object> field = list(pair);
            if (field.get(1).equals("currentTerm")) term = (Long) field.get(2);
            if (field.get(1).equals("votedFor")) vote = (String) field.get(2);
        }
        awaitLeader();
    }
    void effect(Object... parts) { effects.add(Arrays.asList(parts)); }
    void awaitLeader() { effect(4, "election", 150_000, 300_000); }
    void broadcast(Object... message) {
        for (String id : ids) if (!id.equals(me)) effect(0, id, Arrays.asList(message));
    }
    void write() {
        effect(1, List.of("", List.of("", "currentTerm", term), Arrays.asList("", "votedFor", vote)));
        if (!forgetful) effect(3);                                    // SYNC
    }
    void timeout(String timer) {
        if (role.equals("leader")) heartbeat();
        else if (timer.equals("election")) {
            role = "candidate"; term++; vote = me; votes.clear(); votes.add(me);
            write(); awaitLeader();
            broadcast("VoteRequest", term, me, 0, 0);
        }
    }
    void heartbeat() {
        effect(4, "heartbeat", 50_000, 50_000);
        broadcast("Append", term, 0, 0, List.of(""), 0);
    }
    void receive(String src, List<Object> message) {
        long theirs = (Long) message.get(1);
        if (theirs > term) { term = theirs; vote = null; role = "follower"; write(); awaitLeader(); }
        switch ((String) message.get(0)) {
            case "VoteRequest" -> {
                boolean granted = theirs == term && (vote == null || vote.equals(src));
                if (granted) { vote = src; write(); awaitLeader(); }
                effect(0, src, List.of("VoteReply", term, granted));
            }
            case "VoteReply" -> {
                if (theirs != term || !role.equals("candidate") || !(Boolean) message.get(2)) return;
                votes.add(src);                                       // as a set: a vote that comes twice counts once
                if (2 * votes.size() > ids.size()) { role = "leader"; effect(5, "election"); heartbeat(); }
            }
            case "Append" -> {
                if (theirs == term) { role = "follower"; awaitLeader(); }
                effect(0, src, List.of("AppendReply", term, theirs == term, 0));
            }
            default -> { }                                            // AppendReply
        }
    }
    static List<Object> handle(Map<Object, Election> nodes, List<Object> event) {    // [slot, clock, kind, ...]
        long kind = (Long) event.get(2);
        if (kind == 4) {
            List<String> ids = new ArrayList<>();
            for (Object id : list(event.get(4)).subList(1, list(event.get(4)).size())) ids.add((String) id);
            nodes.put(event.get(0), new Election((String) event.get(3), ids, list(event.get(6))));
        }
        Election node = nodes.get(event.get(0));
        if (kind == 0) node.receive((String) event.get(3), list(event.get(4)));
        if (kind == 1) node.timeout((String) event.get(3));
        if (kind == 2) node.effect(8, event.get(3));                  // REQUEST: refused
        List<Object> effects = new ArrayList<>(node.effects); node.effects.clear();
        return List.of(effects, List.of());                           // no check has refused anything by name
    }
    public static void main(String[] arguments) throws IOException {
        forgetful = List.of(arguments).contains("--forgetful");
        Map<Object, Election> nodes = new HashMap<>();                // by slot
        for (boolean first = true; ; first = false) {
            byte[] header = System.in.readNBytes(4);
            if (header.length < 4) return;                            // the parent has closed the pipe
            int length = 0;
            for (int i = 3; i >= 0; i--) length = length << 8 | header[i] & 255;
            text = new String(System.in.readNBytes(length), StandardCharsets.US_ASCII); at = 0;
            List<Object> answers = new ArrayList<>();
            if (!first) for (Object event : list(parse())) answers.add(handle(nodes, list(event)));
            byte[] answer = (first ? "\"\"" : json(answers)).getBytes(StandardCharsets.US_ASCII);
            for (int i = 0; i < 4; i++) System.out.write(answer.length >> 8 * i);
            System.out.write(answer); System.out.flush();
        }
    }
    // The JSON of a frame: null, truths, whole numbers, lists, and texts, which here are names without escapes.
    static String text;
    static int at;
    static Object parse() {
        if (text.charAt(at) == '[') {
            List<Object> items = new ArrayList<>();
            while (text.charAt(at++) != ']') if (text.charAt(at) != ']') items.add(parse());
            return items;
        }
        int start = at;
        if (text.charAt(at) == '"') { at = text.indexOf('"', at + 1) + 1; return text.substring(start + 1, at - 1); }
        while (",]".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(start, at);
        if (word.equals("null")) return null;
        return Character.isLetter(word.charAt(0)) ? (Object) word.equals("true") : (Object) Long.valueOf(word);
    }
    static String json(Object x) {
        if (x instanceof String name) return '"' + name + '"';
        if (!(x instanceof List<?> items)) return String.valueOf(x);
        StringJoiner joined = new StringJoiner(",", "[", "]");
        for (Object item : items) joined.add(json(item));
        return joined.toString();
    }
    @SuppressWarnings("unchecked") static List<Object> list(Object x) { return (List<Object>) x; }
}
