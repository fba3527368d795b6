/** What may it do? Source: behaviour conventions 16; iam.md 8, 9. */
import type { Clock } from '../../core/clock.ts'
import type { AccessControl, Kinds } from '../../core/ports.ts'
import type { Store } from '../../store/store.ts'

export function createAccessControl(_options: { readonly store: Store; readonly kinds: Kinds; readonly clock: Clock }): AccessControl {
  return {
    scope: async () => 'all',
    viewScope: async () => 'all',
    referScope: async () => 'all',
  }
}
