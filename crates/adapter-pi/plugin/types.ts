// The published types of the two programs, for the checks alone: nothing of this file is in what `install` drops.
export type { ExtensionAPI as PiApi, ExtensionContext as PiContext } from "@earendil-works/pi-coding-agent";
export type { ExtensionAPI as OmpApi, ExtensionContext as OmpContext } from "@oh-my-pi/pi-coding-agent";
