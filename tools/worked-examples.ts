/** Writes files of the folder `examples` into pages, after the links to them. Without `--update` all must agree. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../docs/how-to')
export const pages: readonly string[] = [
  'build-a-two-tier-vpc.md',
  'practise-operations.md',
  'service-a-cluster.md',
  'test-against-hyperplane.md',
].map((name) => join(folder, name))

const shown = /\[([\w.-]+)\]\(examples\/\1\)\n\n```(\w+)\n[\s\S]*?\n```\n/g

/** The page as it should be. */
export const withExamples = (page: string): string =>
  page.replace(shown, (_, name: string, language: string) => {
    const example = readFileSync(join(folder, 'examples', name), 'utf8')
    return `[${name}](examples/${name})\n\n\`\`\`${language}\n${example}\`\`\`\n`
  })

/** Files that no page shows. */
export function missingIn(texts: readonly string[]): readonly string[] {
  const named = new Set(texts.flatMap((text) => [...text.matchAll(shown)].map(([, name]) => name)))
  return readdirSync(join(folder, 'examples')).filter((name) => /\.(?:ts|py|sh)$/.test(name) && !named.has(name))
}

if (process.argv[1] === import.meta.filename) {
  const isUpdate = process.argv.includes('--update')
  const stored = pages.map((page) => readFileSync(page, 'utf8'))
  for (const [index, page] of pages.entries()) {
    const text = withExamples(stored[index] as string)
    if (text === stored[index]) continue
    if (isUpdate) writeFileSync(page, text)
    else {
      console.error(`${page} differs: run npm run examples -- --update`)
      process.exitCode = 1
    }
  }
  for (const name of missingIn(stored)) {
    console.error(`no page shows ${name}: add a link to it, and a block of code below`)
    process.exitCode = 1
  }
}
