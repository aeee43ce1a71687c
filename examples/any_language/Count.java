// A noisy sum that answers dpcheck in JSON lines, with the Java library alone.
//   dpcheck audit --exec "java Count.java" --claim 1 --adjacency replace-one --neighbours pairs.json
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Random;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Count {
    // Enough JSON for a flat list of numbers; a real program would use a library.
    static double field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*(-?[0-9.eE+-]+)").matcher(line);
        if (!found.find()) throw new IllegalArgumentException("no field " + name);
        return Double.parseDouble(found.group(1));
    }

    static double[] data(String line) {
        Matcher found = Pattern.compile("\"data\":\\s*\\[([^\\]]*)\\]").matcher(line);
        if (!found.find()) throw new IllegalArgumentException("data is no list of numbers");
        String inside = found.group(1).trim();
        if (inside.isEmpty()) return new double[0];
        String[] words = inside.split(",");
        double[] values = new double[words.length];
        for (int i = 0; i < words.length; i++) values[i] = Double.parseDouble(words[i].trim());
        return values;
    }

    static double mechanism(double[] data, Random random) {
        double sum = 0;
        for (double value : data) sum += Math.min(Math.max(value, 0), 1);
        return sum - Math.log(1 - random.nextDouble()) + Math.log(1 - random.nextDouble());
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                Random random = new Random((long) field(line, "seed"));
                double[] data = data(line);
                StringJoiner outputs = new StringJoiner(", ", "{\"outputs\": [", "]}");
                for (int run = 0; run < (int) field(line, "runs"); run++)
                    outputs.add(Double.toString(mechanism(data, random)));
                System.out.println(outputs);
            } catch (RuntimeException error) {
                System.out.println("{\"error\": \"" + error.getMessage() + "\"}");
            }
            System.out.flush();
        }
    }
}
