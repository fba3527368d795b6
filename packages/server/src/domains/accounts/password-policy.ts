/** The password rules for local users. Source: behaviour iam.md 1 (password policy). */

export const passwordHistoryLength = 5
const leastDifference = 4

/** @param old current password, if the caller gave it. The results do not quote the password. */
export function brokenRules(password: string, username: string, old?: string): string[] {
  const broken: string[] = []
  const length = [...password].length
  if (length < 8) broken.push('it has fewer than 8 characters')
  if (length > 255) broken.push('it has more than 255 characters')
  if (!/\p{Ll}/u.test(password)) broken.push('it has no lower-case letter')
  if (!/\p{Lu}/u.test(password)) broken.push('it has no upper-case letter')
  if (!/\p{Nd}/u.test(password)) broken.push('it has no digit')
  if (!/[^\p{L}\p{N}\s]/u.test(password)) broken.push('it has no special character')
  if (username.length >= 4 && password.toLowerCase().includes(username.toLowerCase()))
    broken.push('it contains the user name')
  // A longer password is refused already, and comparing it would be slow.
  if (old !== undefined && length <= 255 && difference(old, password) < leastDifference) {
    broken.push(`fewer than ${leastDifference} of its characters differ from the old one`)
  }
  return broken
}

/** At least 15 characters of four classes, none of them three times in a row. */
export const isHighStrength = (password: string): boolean =>
  [...password].length >= 15 && classesIn(password) === 4 && !/(.)\1\1/su.test(password)

/** Lower-case letters, upper-case letters, digits, others. */
export const classesIn = (password: string): number =>
  [/\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u, /[^\p{L}\p{N}\s]/u].filter((one) => one.test(password)).length

export const reusedRule = `it is one of the last ${passwordHistoryLength}`

export function difference(from: string, to: string): number {
  const a = [...from].slice(0, 256)
  const b = [...to]
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, character] of a.entries()) {
    const next = [i + 1]
    for (const [j, other] of b.entries()) {
      const replaced = (row[j] as number) + (character === other ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] as number) + 1, (next[j] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
