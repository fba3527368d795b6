import { createHash } from 'node:crypto'

/** The form in which API keys are stored: it identifies a key and does not reveal it. */
export const apiKeyDigest = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex')
