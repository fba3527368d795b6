/** The picture in ARCHITECTURE.md, drawn from the actual imports. */
import { importedRooms, namespaces } from './check-imports.ts'

/** Rooms that the picture shows as one. */
const drawnAs = (room: string): string => {
  if (namespaces.includes(room)) return 'domains: namespaces'
  if (room === 'domains/registry') return 'domains: registry'
  if (room.startsWith('domains/')) return 'domains: themes'
  if (room.startsWith('drivers/') && room !== 'drivers/simulated') return 'drivers: real'
  return room
}

/** Mermaid; without arrows that follow from others. */
export function roomsPicture(): string {
  const below = new Map<string, Set<string>>()
  for (const [from, rooms] of importedRooms()) {
    const name = drawnAs(from)
    const targets = below.get(name) ?? new Set<string>()
    below.set(name, targets)
    for (const room of rooms) if (drawnAs(room) !== name) targets.add(drawnAs(room))
  }
  const reached = (from: string): Set<string> => {
    const all = new Set<string>()
    for (const target of below.get(from) ?? []) for (const room of [target, ...reached(target)]) all.add(room)
    return all
  }
  const arrows = [...below].flatMap(([from, targets]) =>
    [...targets]
      .filter((target) => ![...targets].some((other) => other !== target && reached(other).has(target)))
      .map((target) => `  ${nodeOf(from)} --> ${nodeOf(target)}`),
  )
  return ['```mermaid', 'flowchart TD', ...arrows.sort(), '```'].join('\n')
}

const nodeOf = (room: string): string => `${room.replace(/\W+/g, '_')}["${room}"]`
