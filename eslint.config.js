import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["target*", "eslint.config.js"] },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    files: ["**/*.test.ts"],
    // The test runner waits for its tests itself.
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
);
