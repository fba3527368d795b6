/** What a new world is asked to hold: a preset, or a file that names one and adds counts. */
import { readFileSync } from 'node:fs'
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import type { Config } from './config.ts'
import { reasonOf, StartRefusal } from './start-refusal.ts'

export interface SeedPlan {
  readonly inventory: 'demo' | 'empty'
  /** Further virtual machines, powered off, spread over the native clusters. */
  readonly vms: number
}

const largestCount = 1_000_000

/** @throws StartRefusal that names file, line, column, what was expected and what was found */
export function readSeed(seed: Config['seed']): SeedPlan {
  if (typeof seed === 'string') return { inventory: seed, vms: 0 }
  const { file } = seed
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartRefusal(
      `The seed ${file} cannot be read (${reasonOf(error)}): correct the path of --seed, or the file's permissions.`,
      { cause: error },
    )
  }
  const lines = new LineCounter()
  const refuse = (offset: number, fault: string): StartRefusal => {
    const { line, col } = lines.linePos(offset)
    return new StartRefusal(`The seed ${file}, line ${line}, column ${col}: ${fault}`)
  }
  const document = parseDocument(text, { lineCounter: lines })
  const broken = document.errors[0]
  if (broken !== undefined) throw refuse(broken.pos[0], `is not YAML (${broken.message.split('\n')[0]})`)
  const { contents } = document
  if (!isMap(contents)) throw refuse(0, 'expected a mapping with the keys inventory and vms')
  const plan: { inventory: SeedPlan['inventory']; vms: number } = { inventory: 'demo', vms: 0 }
  let vmsAt = 0
  for (const { key, value } of contents.items) {
    const name = isScalar(key) ? String(key.value) : ''
    const given = isScalar(value) ? value.value : undefined
    const at = (isScalar(value) ? value.range?.[0] : undefined) ?? (isScalar(key) ? key.range?.[0] : undefined) ?? 0
    if (name === 'inventory') {
      if (given !== 'demo' && given !== 'empty')
        throw refuse(at, `inventory: expected demo or empty, found ${JSON.stringify(given)}`)
      plan.inventory = given
    } else if (name === 'vms') {
      if (typeof given !== 'number' || !Number.isInteger(given) || given < 0 || given > largestCount) {
        throw refuse(at, `vms: expected an integer from 0 to ${largestCount}, found ${JSON.stringify(given)}`)
      }
      plan.vms = given
      vmsAt = at
    } else {
      throw refuse(
        (isScalar(key) ? key.range?.[0] : undefined) ?? 0,
        `"${name}" is no key of a seed; expected inventory or vms`,
      )
    }
  }
  if (plan.inventory === 'empty' && plan.vms > 0) {
    throw refuse(vmsAt, 'vms: the inventory empty has no cluster for them; take the inventory demo, or 0')
  }
  return plan
}
