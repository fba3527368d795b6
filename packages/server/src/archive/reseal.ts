/** Opens each secret with its present key and seals it with another. Source: behaviour platform.md 8 (encryption). */
import { type Sealer, sealerWith } from '../core/access/secrets.ts'
import { aboutTask, sealedInTask } from '../core/tasks/sealed.ts'
import { secretsKeyOf } from './cipher.ts'

type Opener = Pick<Sealer, 'open'>
type Seal = Pick<Sealer, 'seal'>

export interface SecretsOfKind {
  readonly kind: string
  readonly secrets: readonly (readonly string[])[]
}

export const backupSealer = (dataKey: Buffer): Pick<Sealer, 'seal' | 'open'> =>
  sealerWith(secretsKeyOf(dataKey), 'backup')

export const holdsSecrets = ({ kind, secrets }: SecretsOfKind): boolean => secrets.length > 0 || kind === 'Task'

type Changeable = Record<string, unknown>

/** Changes `document`, a parsed row, in place. @throws Error when a secret does not open: other row, or wrong key */
export function reseal({ kind, secrets }: SecretsOfKind, document: unknown, from: Opener, to: Seal): void {
  const { extId, runner } = document as { readonly extId: string; readonly runner?: Changeable }
  for (const path of secrets) {
    const about = `${kind}/${extId}/${path.join('/')}`
    resealAt(document, path, (sealed) => to.seal(from.open(sealed, about), about))
  }
  if (kind !== 'Task' || runner === undefined) return
  for (const field of sealedInTask) {
    const sealed = runner[field]
    const about = aboutTask(extId, field)
    if (typeof sealed === 'string') runner[field] = to.seal(from.open(sealed, about), about)
  }
}

function resealAt(value: unknown, path: readonly string[], change: (sealed: string) => string): void {
  if (Array.isArray(value)) {
    for (const item of value) resealAt(item, path, change)
    return
  }
  const name = path[0]
  if (name === undefined || typeof value !== 'object' || value === null) return
  const at = value as Changeable
  const field = at[name] as { readonly $sealed?: unknown } | undefined
  if (path.length > 1) resealAt(field, path.slice(1), change)
  else if (typeof field?.$sealed === 'string') at[name] = { $sealed: change(field.$sealed) }
}
