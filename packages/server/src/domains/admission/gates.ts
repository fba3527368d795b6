/** Source: behaviour platform.md 5; networking.md 1.2, 1.20. */
import type { Gate, Operation } from '@hyperplane/contract'

/** @param subjects body and target; a condition applies if one of them meets it */
export function gateOf({ resource }: Operation, ...subjects: readonly unknown[]): Gate | undefined {
  const { gate } = resource ?? {}
  const conditions = Object.entries(gate?.where ?? {})
  const isMet = (subject: unknown): boolean =>
    conditions.every(([field, value]) => (subject as Record<string, unknown> | undefined)?.[field] === value)
  return conditions.length === 0 || subjects.some(isMet) ? gate : undefined
}
