/** Writes files of the folder `examples` into pages, after the links to them. Without `--update` both must agree. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../docs/how-to')
export const page = join(folder, 'test-against-hyperplane.md')

const shown = /\[([\w.-]+)\]\(examples\/\1\)\n\n```(\w+)\n[\s\S]*?\n```\n/g

/** Returns the page as it should be, and the files that it does not show. */
export function withExamples(text: string): { text: string; missing: readonly string[] } {
  const missing = new Set(readdirSync(join(folder, 'examples')).filter((name) => /\.(?:ts|py|sh)$/.test(name)))
  const filled = text.replace(shown, (_, name: string, language: string) => {
    missing.delete(name)
    const example = readFileSync(join(folder, 'examples', name), 'utf8')
    return `[${name}](examples/${name})\n\n\`\`\`${language}\n${example}\`\`\`\n`
  })
  return { text: filled, missing: [...missing] }
}

if (process.argv[1] === import.meta.filename) {
  const stored = readFileSync(page, 'utf8')
  const { text, missing } = withExamples(stored)
  if (process.argv.includes('--update')) writeFileSync(page, text)
  else if (text !== stored) console.error('the page differs: run npm run examples -- --update')
  for (const name of missing)
    console.error(`the page does not show ${name}: add a link to it, and a block of code below`)
  if (missing.length > 0 || (text !== stored && !process.argv.includes('--update'))) process.exit(1)
}
